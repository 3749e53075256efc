locus lint --servers 10.0.0.1*9/5,10.0.0.2*9 --policy lblc --rules article
