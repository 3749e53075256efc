locus replay --policy lblc --servers 3 --no-server bypass --max-entries 4 --replace data/small.squid | grep ^rules
locus replay --policy lblc --servers 3 --rules locus --no-server refuse --replace data/small.squid | grep ^rules
locus replay --policy lblc --servers 3 --no-server any --json data/small.squid | grep -A2 '"rules'
