gzip -c data/proxy.squid | locus inspect --brief -
