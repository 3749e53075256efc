locus inspect data/conn.zeek
