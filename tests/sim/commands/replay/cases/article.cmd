locus replay --servers 3 --rules article --policy lblc,lblcr data/small.squid
