locus convert --to nfdump data/conn.zeek data/proxy.squid | locus convert --to csv -
