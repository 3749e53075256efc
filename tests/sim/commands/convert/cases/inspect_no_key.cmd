locus inspect --key object data/proxy.squid
