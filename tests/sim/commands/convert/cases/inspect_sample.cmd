locus inspect --brief --sample 1/2 data/proxy.squid
