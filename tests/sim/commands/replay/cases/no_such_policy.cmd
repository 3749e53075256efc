locus replay --servers 2 --policy wlc,fastest data/small.squid
