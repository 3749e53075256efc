locus inspect --format apache data/access.log
