locus lint --pool - - < data/pool.rules
