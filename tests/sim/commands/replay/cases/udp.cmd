locus replay --servers 2 --proto udp --policy wlc,lblc data/mixed.zeek
