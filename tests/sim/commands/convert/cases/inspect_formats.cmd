locus inspect --formats
