locus replay --servers 2 --policy wlc --duration lognormal:500ms:1.2 --proto all data/mixed.zeek
