locus lint --servers 10.0.0.1*5,10.0.0.2*0 --policy sh
