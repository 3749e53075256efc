locus inspect --brief data/flow.nfdump
