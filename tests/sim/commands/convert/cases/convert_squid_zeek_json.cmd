locus convert --to zeek-json data/proxy.squid
