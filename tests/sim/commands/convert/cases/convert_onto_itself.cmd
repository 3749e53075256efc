d=$(mktemp -d) && locus convert --to locus -o $d/a.locus data/proxy.squid && cp $d/a.locus $d/b && (cd $d && locus convert -o b ./b; echo $?; cmp a.locus b); rm -r $d
