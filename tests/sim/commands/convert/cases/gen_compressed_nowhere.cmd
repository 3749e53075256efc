locus gen -o data/absent/x.xz
