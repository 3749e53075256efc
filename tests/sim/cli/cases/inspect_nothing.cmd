locus inspect
