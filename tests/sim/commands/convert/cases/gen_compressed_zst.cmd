dir=$(mktemp -d); locus gen --records 100 -o $dir/x.zst && locus inspect --brief $dir/x.zst; rm -r $dir
