locus replay --servers 2 --policy wlc --speed 2.5 data/small.squid
