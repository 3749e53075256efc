locus convert
