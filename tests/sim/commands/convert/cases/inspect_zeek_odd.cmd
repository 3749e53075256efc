locus inspect --brief data/odd.zeek
