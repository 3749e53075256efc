locus gen --records 3 --family ipv6 --seed 2
