locus replay --servers 10.0.0.1:80*6,10.0.0.2:80*2,10.0.0.3:80*0 --per-server --policy wlc,rr data/small.squid
