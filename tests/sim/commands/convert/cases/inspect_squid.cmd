locus inspect data/proxy.squid
