locus replay --servers 2 --policy wlc --csv data/small.squid >/dev/full
