locus advise --pool data/pool.rules --cache 64k --max-imbalance 1.9 data/small.squid
