# Who serves already when the replay begins has all of its share.
locus replay --servers 3 --policy wlc,sed,lblcr data/small.squid > "${TMPDIR:-/tmp}/locus-steady.$$"
locus replay --servers 3 --policy wlc,sed,lblcr --slow-start 1h data/small.squid | sed "s/, --slow-start 1h//" | diff "${TMPDIR:-/tmp}/locus-steady.$$" - && echo the same
rm -f "${TMPDIR:-/tmp}/locus-steady.$$"
