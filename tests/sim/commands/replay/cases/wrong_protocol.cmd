grep -v tcp data/mixed.zeek | locus replay --servers 2 -
