for p in lblc lblcr; do locus lint --servers 10.0.0.1*9/5,10.0.0.2*9 --policy $p; done
