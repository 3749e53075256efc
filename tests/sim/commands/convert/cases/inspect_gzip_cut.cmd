gzip -c data/odd.squid | head -c 150 | locus inspect --brief -
