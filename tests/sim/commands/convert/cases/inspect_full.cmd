locus inspect data/proxy.squid >/dev/full
