TMPDIR=/nonexistent locus replay --servers 2 --policy wlc --decisions /dev/null data/small.squid
