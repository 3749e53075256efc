locus convert --to zeek-tsv data/proxy.squid
