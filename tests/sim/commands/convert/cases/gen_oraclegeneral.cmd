locus gen --records 100 --destinations 5 --to oraclegeneral | locus inspect --brief -
