dir=$(mktemp -d); locus gen --records 100 -o $dir/x.gz && locus inspect --brief $dir/x.gz; rm -r $dir
