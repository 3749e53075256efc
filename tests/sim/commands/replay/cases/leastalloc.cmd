locus replay --servers 4 --policy leastalloc --decisions - data/small.squid
