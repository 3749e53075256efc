for more in "" "--timeline /dev/null"; do locus replay --servers "10.0.0.1*0" --policy wlc $more --json data/small.squid | grep '"span_ms"'; done
