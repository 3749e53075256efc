locus inspect data/objects.txt
