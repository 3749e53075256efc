locus replay --servers 4 --policy wlc --save none.map data/small.squid
