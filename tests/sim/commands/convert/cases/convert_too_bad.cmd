locus convert --to csv --max-bad 2 data/odd.squid
