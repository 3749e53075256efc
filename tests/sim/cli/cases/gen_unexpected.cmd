locus gen out.log
