locus advise --servers 4 --proto udp data/small.squid
