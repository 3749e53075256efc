locus replay --servers 10.0.0.1*1,10.0.0.2*0 --policy sh,sh:fallback,mh:fallback:port data/small.squid
