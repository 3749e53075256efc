locus convert --to csv data/proxy.squid
