locus advise --servers 2 --rules locus --policy lblcr data/small.squid
