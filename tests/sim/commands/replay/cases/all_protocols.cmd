locus replay --servers 2 --proto all --policy wlc --duration const:2s data/mixed.zeek
