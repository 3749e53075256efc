echo "10s explode 10.0.0.1:80" | locus replay --servers 2 --scenario - data/small.squid
