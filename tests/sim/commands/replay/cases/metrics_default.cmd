locus replay --servers 200 --policy wlc,lblc --metrics - data/small.squid | grep -c "^locus_"
