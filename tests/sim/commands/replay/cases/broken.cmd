# A server that answers at once, with errors: fewest connections draw more of them.
printf '10s break 10.0.0.1\n30s mend 10.0.0.1\n' > "${TMPDIR:-/tmp}/locus-broken.$$"
locus replay --servers 3 --policy wlc,rr,lblcr,wlc@4 --scenario "${TMPDIR:-/tmp}/locus-broken.$$" --width 100 data/small.squid | grep -v even
echo '1s break 10.0.0.9' > "${TMPDIR:-/tmp}/locus-broken.$$"
locus replay --servers 3 --scenario "${TMPDIR:-/tmp}/locus-broken.$$" data/small.squid 2>&1 | sed 's/[^ ]*locus-broken[^:]*/FILE/'
rm -f "${TMPDIR:-/tmp}/locus-broken.$$"
