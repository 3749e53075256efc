printf '1s guard 120%%\n' | locus replay --servers 4 --scenario /dev/stdin data/bad.squid
