locus replay --servers 4 --policy wlc,lblc,lblcr data/small.squid
