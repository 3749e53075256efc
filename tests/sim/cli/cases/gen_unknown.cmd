locus gen --to apache
