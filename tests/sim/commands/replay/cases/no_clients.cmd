printf "1,a,10\n2,b,20\n3,a,10\n" | locus replay --servers 2 --policy dh,mh --columns time=1,dst=2,bytes=3 -
