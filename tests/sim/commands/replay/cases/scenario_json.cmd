locus replay --pool data/pool.rules --scenario data/scenario.txt --policy lblc --json data/small.squid | grep -E "\"(phase|from_ms|events|recovery_ms)\""
