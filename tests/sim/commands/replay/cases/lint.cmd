locus lint --pool data/pool.rules data/small.squid
