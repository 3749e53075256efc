locus replay --pool - --policy wlc - < data/small.squid
