locus inspect --json data/empty.log
