locus convert --to apache data/proxy.squid
