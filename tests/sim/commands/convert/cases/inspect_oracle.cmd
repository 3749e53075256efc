locus inspect --brief --format oraclegeneral data/oracle.bin
