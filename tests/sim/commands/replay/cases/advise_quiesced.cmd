locus advise --servers "10.0.0.1*0,10.0.0.2*0" data/small.squid
