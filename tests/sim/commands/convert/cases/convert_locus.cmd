locus convert data/conn.zeek data/proxy.squid | locus convert --to csv -
