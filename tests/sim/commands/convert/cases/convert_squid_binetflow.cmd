locus convert --to binetflow data/proxy.squid
