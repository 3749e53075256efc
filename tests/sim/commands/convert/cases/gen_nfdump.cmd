locus gen --records 3 --to nfdump
