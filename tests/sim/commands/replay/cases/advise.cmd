locus advise --servers 4 data/small.squid
