head -n 12 data/small.squid | locus replay --servers 2 --policy lblcr,rr --decisions - -
