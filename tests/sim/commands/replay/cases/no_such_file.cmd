locus replay --servers 2 data/absent.log
