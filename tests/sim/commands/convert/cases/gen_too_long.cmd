locus gen --records 1000000 --rate 0.00001
