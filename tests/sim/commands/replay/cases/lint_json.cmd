locus lint --servers web-1*1,10.0.0.2*70000 --json
