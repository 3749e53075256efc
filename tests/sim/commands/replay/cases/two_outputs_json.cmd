locus replay --servers 2 --metrics - --json data/small.squid
