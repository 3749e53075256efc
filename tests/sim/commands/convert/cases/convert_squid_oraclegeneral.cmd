locus convert --key host --to oraclegeneral data/proxy.squid | od -A d -t x1
