locus inspect data/empty.log
