locus lint --servers 3 data/small.squid
