locus inspect --brief data/flow.ndjson
