locus replay data/small.squid
