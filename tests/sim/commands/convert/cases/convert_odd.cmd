locus convert --to csv data/odd.squid
