locus replay --servers 4 --policy wlc,lblc --scenario data/guard.scenario --json data/bad.squid | grep -E '"(policy|kept|refused|connections)"'
