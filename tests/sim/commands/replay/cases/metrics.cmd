locus replay --servers 2 --policy wlc,dh --metrics - --per-server data/small.squid
