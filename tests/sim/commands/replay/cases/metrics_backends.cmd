locus replay --servers web-1:8080*4,[2001:db8::1]:80*4,10.0.0.1*4 --policy wlc --metrics - --per-server data/small.squid | grep server_connections
