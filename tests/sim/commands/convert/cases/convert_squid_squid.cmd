locus convert --to squid data/proxy.squid
