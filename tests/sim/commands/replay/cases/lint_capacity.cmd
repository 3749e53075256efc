locus lint --servers '10.0.0.1:80*1@4,10.0.0.2:80*1' --policy lblc data/small.squid
