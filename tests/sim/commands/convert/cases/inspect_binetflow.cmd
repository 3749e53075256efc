locus inspect --brief data/argus.binetflow
