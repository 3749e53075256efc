locus replay --servers 2 --interval 0 --timeline - data/small.squid
