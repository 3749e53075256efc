locus replay --servers 2 --cache 4objects --policy lblc,dh,rr,wrr,sh,mh,wlc,lc,sed,nq --scenario data/scenario_two.txt --svg - data/small.squid | sed "s/ points=.*/ .../" | head -n 90
