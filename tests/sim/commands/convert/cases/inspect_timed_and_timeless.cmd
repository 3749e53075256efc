locus inspect --brief data/proxy.squid data/timeless.csv
