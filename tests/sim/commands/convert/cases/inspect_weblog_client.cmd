locus inspect --brief --key client data/access.log
