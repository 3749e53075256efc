locus replay --policy lblc,lblcr --servers 3 --max-entries 4 data/small.squid
locus replay --policy lblc,lblcr --servers 3 --max-entries 4 --replace --width 120 data/small.squid
