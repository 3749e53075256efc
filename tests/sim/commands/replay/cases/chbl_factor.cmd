locus replay --servers 2 --policy chbl:1 data/small.squid
