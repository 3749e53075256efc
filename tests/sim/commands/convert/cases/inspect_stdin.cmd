locus inspect --brief - <data/proxy.squid
