locus inspect --brief data/proxy.squid data/conn.zeek
