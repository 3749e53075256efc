locus inspect --json --top 2 data/proxy.squid
