locus convert --to libcachesim data/proxy.squid
