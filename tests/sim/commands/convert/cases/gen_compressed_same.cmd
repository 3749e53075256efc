dir=$(mktemp -d); locus gen --to csv -n 9 -o $dir/a.gz; locus gen --to csv -n 9 -o $dir/b.gz; cmp $dir/a.gz $dir/b.gz; rm -r $dir
