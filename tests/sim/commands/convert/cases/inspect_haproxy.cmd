locus inspect --brief data/tcp.haproxy
