locus replay --servers 4 --policy lblc --load data/small.squid data/small.squid
