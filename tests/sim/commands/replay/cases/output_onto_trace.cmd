d=$(mktemp -d) && cp data/small.squid $d/a && (cd $d && locus replay --servers 2 --policy wlc --svg a ./a; echo $?); cmp data/small.squid $d/a; rm -r $d
