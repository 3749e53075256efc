dir=$(mktemp -d); cd $dir && ln -s /dev/full x.gz && locus gen -n 10000 -o x.gz; code=$?; rm -r $dir; exit $code
