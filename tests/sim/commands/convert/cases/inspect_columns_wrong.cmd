locus inspect --columns time=1,wohin=2 data/columns.csv
