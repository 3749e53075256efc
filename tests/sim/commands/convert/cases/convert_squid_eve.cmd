locus convert --to eve data/proxy.squid
