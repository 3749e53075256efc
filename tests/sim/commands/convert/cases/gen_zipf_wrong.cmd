locus gen --zipf steep
