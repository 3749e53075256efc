locus inspect data
