locus inspect --brief --key url data/proxy.squid
