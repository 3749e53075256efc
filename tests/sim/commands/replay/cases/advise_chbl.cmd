locus advise --servers 4 --policy chbl,chbl:1.5,p2c data/small.squid
