locus convert --to csv data/absent.log
