locus replay --servers 4 --policy lblc --load data/none.map data/small.squid
