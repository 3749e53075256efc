locus convert --to csv data/proxy.squid >/dev/full
