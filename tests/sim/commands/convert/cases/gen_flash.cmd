locus gen --records 1000 --pattern flash | locus inspect --top 3 -
