for policy in wlc@1 wlc@257 wlc@ leastalloc@4 none@4; do
    locus replay --servers 4 --policy $policy data/small.squid
done
locus replay --servers 4 --policy wlc --stagger data/small.squid
locus replay --servers 4 --policy wlc --director-by client data/small.squid
locus replay --servers 4 --policy lblc@2 --save map data/small.squid
locus advise --servers 4 --policy wlc@4 data/small.squid
