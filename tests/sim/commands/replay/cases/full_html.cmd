locus replay --servers 2 --policy wlc --html /dev/full data/small.squid >/dev/null
