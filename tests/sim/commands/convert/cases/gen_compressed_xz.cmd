dir=$(mktemp -d); locus gen --records 100 -o $dir/x.xz && locus inspect --brief $dir/x.xz; rm -r $dir
