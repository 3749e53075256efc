locus convert --key url --to zeek-tsv data/proxy.squid
