# Directors that share the connections, each with counts and a map of its own.
locus replay --servers 4 --policy wlc,wlc@8,lblc,lblc@8 --width 120 data/small.squid
locus replay --servers 4 --policy wlc@4,leastalloc --director-by client --stagger --csv data/small.squid | cut -d, -f1-8,33,34
locus replay --servers 4 --policy wlc@4 --director-by client --stagger --json data/small.squid | grep -E 'director|stagger|herd|excess'
locus replay --servers 4 --policy lblc,lblc@8,lblcr@8 --director-by destination --csv data/small.squid | cut -d, -f1-8,33,34
locus replay --servers 4 --key url --policy lblc@2,wlc@2 --director-by destination --csv data/small.squid | cut -d, -f1-8,33,34
