printf 'time,dst\n0,a\n30000000,b\n' | locus replay --speed 0.001 --servers 1 --policy rr --format csv -
