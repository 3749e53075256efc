dir=$(mktemp -d); locus gen --records 100 -o $dir/x.bz2 && locus inspect --brief $dir/x.bz2; rm -r $dir
