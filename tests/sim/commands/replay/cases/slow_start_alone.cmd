locus replay --servers 3 --slow-start-floor 5 data/small.squid
