locus replay --policy lblc,lblcr --servers '10.0.0.1:80*1,10.0.0.2:80*1,10.0.0.3:80*1@4' --capacity 6 data/small.squid
