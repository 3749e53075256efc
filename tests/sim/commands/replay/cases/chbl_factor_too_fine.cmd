locus replay --servers 2 --policy chbl:1.255 data/small.squid
