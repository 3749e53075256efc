locus convert --to objects data/proxy.squid
