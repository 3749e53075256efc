locus replay --servers 2 --policy wlc,dh --csv data/small.squid
