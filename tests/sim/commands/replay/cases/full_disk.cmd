locus replay --servers 2 --policy wlc --timeline /dev/full data/small.squid
