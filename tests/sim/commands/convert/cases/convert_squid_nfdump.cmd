locus convert --to nfdump data/proxy.squid
