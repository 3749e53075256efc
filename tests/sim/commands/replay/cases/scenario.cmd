locus replay --pool data/pool.rules --scenario data/scenario.txt --policy wlc,lblc data/small.squid
