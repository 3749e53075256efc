locus replay --servers 4 --policy lblc --save - data/small.squid
