locus replay --servers 2
