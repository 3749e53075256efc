locus replay --pool data/pool.rules --policy wlc,lblc,leastalloc --width 120 data/small.squid
