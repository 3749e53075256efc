locus replay --servers 2 --rules bsd data/small.squid
