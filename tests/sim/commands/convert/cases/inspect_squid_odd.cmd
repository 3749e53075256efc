locus inspect data/odd.squid
