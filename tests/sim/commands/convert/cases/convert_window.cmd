locus convert --to csv --from 1s --until 2s data/proxy.squid
locus convert --to csv --from 2s --until 1s data/proxy.squid
