locus replay --servers 2 --policy wlc,lblc,dh,sh,mh data/mixed.zeek
