(trap '' XFSZ; ulimit -f 0; TMPDIR=/tmp locus replay --servers 2 --policy wlc --decisions /dev/null data/small.squid >/dev/null; echo $?) 2>&1 | cat
