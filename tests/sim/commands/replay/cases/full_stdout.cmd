locus replay --servers 2 --policy wlc --json data/small.squid >/dev/full
