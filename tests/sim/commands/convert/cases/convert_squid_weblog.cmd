locus convert --to weblog data/proxy.squid
