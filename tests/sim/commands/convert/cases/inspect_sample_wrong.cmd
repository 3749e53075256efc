locus inspect --sample 2 data/proxy.squid
