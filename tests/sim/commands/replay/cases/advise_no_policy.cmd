locus advise --servers 2 --policy fastest data/small.squid
