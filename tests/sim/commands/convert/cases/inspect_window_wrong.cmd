locus inspect --from 2s --to 1s data/proxy.squid
