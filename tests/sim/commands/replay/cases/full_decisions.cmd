locus replay --servers 2 --policy wlc --decisions /dev/full data/small.squid >/dev/null
