locus replay --servers 2 --timeline - --interval 1us data/small.squid
