locus replay --servers 1 --policy mh,sh,mh:fallback:port,mh:port:fallback,sh:fallback:port,sh:port:fallback,sh:fallback,mh:fallback --svg - data/small.squid | grep -e 'class="n"' -e '="[^"]*-'
