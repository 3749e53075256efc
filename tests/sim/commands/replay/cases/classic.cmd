locus replay --servers 3 --rules kernel-classic --policy lblc,lblcr data/small.squid
