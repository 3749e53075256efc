locus convert --to csv -o data/absent/out.csv data/proxy.squid
