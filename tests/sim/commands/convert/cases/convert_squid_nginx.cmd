locus convert --to nginx data/proxy.squid
