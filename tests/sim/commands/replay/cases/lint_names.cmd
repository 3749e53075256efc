locus lint --servers localhost*5,$(printf "a%.0s" $(seq 64))*5 --resolve | sed "s/a\{64\}/LONG/" | cut -d: -f1,2
