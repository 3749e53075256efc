locus inspect --brief --max-bad 2 data/odd.squid
