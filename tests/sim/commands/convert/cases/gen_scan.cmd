locus gen --records 1000 --pattern scan | locus inspect --top 3 -
