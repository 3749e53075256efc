locus replay --servers 2 --policy wlc --metrics /dev/full data/small.squid >/dev/null
