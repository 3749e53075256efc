locus replay --servers 2 --policy wlc --max-bad 1 data/bad.squid
