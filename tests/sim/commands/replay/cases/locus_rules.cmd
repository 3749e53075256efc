locus replay --servers 3 --rules locus --policy lblc,lblcr data/small.squid
