locus inspect --format squid data/noise.txt
