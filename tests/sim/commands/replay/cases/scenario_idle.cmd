printf "10s add 10.0.0.1:80 5\n20s restore 10.0.0.2:80\n30s fail 10.0.0.1:80\n1h remove 10.0.0.1:80\n" | locus replay --servers 2 --policy wlc --scenario - data/small.squid
