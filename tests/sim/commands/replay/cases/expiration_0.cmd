locus replay --servers 4 --policy lblc,lblcr --expiration 0 --rules article data/small.squid
