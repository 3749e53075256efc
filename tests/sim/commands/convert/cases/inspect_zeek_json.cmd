locus inspect --brief data/conn.json
