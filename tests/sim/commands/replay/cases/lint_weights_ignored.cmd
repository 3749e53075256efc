locus lint --servers 10.0.0.1*9,10.0.0.2*5 --policy rr
