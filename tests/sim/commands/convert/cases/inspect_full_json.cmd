locus inspect --json data/proxy.squid >/dev/full
