locus replay --servers 2 --policy wlc data/small.squid >/dev/full
