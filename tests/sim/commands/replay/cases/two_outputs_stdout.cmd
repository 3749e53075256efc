locus replay --servers 2 --metrics - --html - data/small.squid
