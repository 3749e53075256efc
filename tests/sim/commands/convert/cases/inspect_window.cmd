locus inspect --brief --from 1s --to 2s data/proxy.squid
