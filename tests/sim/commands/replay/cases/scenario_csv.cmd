locus replay --pool data/pool.rules --scenario data/scenario.txt --policy lblc --csv data/small.squid | cut -d, -f1-6
