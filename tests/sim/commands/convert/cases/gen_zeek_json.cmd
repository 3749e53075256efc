locus gen --records 3 --to zeek-json
