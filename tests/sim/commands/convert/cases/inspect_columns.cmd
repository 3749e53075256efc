locus inspect --columns time=1,dst=2,bytes=3,client=4,duration=5 data/columns.csv
