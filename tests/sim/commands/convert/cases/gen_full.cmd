locus gen --records 3 >/dev/full
