locus inspect data/access.log
