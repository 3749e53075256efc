locus replay --servers 2 --cache 4objects --evict s3fifo --policy wlc,dh --csv data/small.squid
