locus replay --servers 2 --policy wlc,lblc,wlc data/small.squid
