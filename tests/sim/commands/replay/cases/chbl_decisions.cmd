locus replay --servers 3 --policy chbl --decisions - data/small.squid | head -n 40
