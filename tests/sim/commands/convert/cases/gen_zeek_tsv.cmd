locus gen --records 3 --to zeek-tsv
