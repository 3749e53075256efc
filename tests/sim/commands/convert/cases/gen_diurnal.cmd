locus gen --records 1000 --pattern diurnal | locus inspect --top 3 -
