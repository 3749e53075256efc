printf '20s scheduler chbl:1.05\n' | locus replay --servers 4 --policy chbl:100 --scenario - data/small.squid
