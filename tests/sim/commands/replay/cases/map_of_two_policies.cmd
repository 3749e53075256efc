locus replay --servers 4 --policy wlc,lblc --load data/none.map data/small.squid
