locus replay --servers 2 --policy lblc --json data/small.squid | sed "s/\(map_bytes_peak.: \)[0-9]*/\1N/"
