locus inspect data/absent.log
