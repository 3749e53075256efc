locus inspect --brief data/eve.json
