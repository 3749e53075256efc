locus replay --servers 3 data/small.squid
