locus convert --to csv data/timeless.csv
