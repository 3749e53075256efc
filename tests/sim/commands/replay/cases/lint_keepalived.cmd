locus lint --pool data/keepalived.conf --policy lblcr data/small.squid
