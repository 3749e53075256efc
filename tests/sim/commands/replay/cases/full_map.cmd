locus replay --servers 4 --policy lblc --save /dev/full data/small.squid >/dev/null
