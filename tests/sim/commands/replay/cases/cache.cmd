locus replay --servers 2 --cache 64KiB --evict sieve --policy wlc,lblc,dh data/small.squid
