locus replay --servers 2 --policy lblc --timeline - --interval 20s data/small.squid
