locus replay --servers 2 --policy wlc data/bad.squid
