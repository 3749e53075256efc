locus lint --servers 10.0.0.1*4,10.0.0.2*0 --policy dh
