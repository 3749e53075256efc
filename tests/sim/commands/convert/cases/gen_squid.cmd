locus gen --records 3 --to squid
