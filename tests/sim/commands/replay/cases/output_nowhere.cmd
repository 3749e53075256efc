locus replay --servers 2 --html absent/page.html data/small.squid
