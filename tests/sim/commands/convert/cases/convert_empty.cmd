locus convert --to csv data/empty.log
