locus convert --to haproxy data/proxy.squid
