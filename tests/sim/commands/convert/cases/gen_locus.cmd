locus gen --records 100 --family name --to locus | locus inspect --brief -
