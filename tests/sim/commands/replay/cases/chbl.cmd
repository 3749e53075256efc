locus replay --servers 4 --policy wlc,lblc,lblcr,mh,chbl,chbl:1.05,chbl:100,p2c data/small.squid
