locus inspect data/noise.txt
