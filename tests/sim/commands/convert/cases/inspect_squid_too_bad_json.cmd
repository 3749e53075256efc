locus inspect --json --max-bad 2 data/odd.squid
