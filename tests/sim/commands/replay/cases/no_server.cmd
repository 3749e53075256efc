for answer in refuse bypass any; do
    locus replay --policy lblcr --servers '10.0.0.1:80*1/1,10.0.0.2:80*1/1,10.0.0.3:80*0' --no-server $answer --decisions - data/small.squid | cut -d, -f5 | sort | uniq -c
done
