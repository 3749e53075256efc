locus inspect --arrival 2 data/timeless.csv
