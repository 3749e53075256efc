locus inspect --brief --key host data/http.haproxy
