printf -- "-A -f 1 -s sed\n-a -f 1 -r 10.1.0.1 -w 4\n-a -f 1 -r 10.1.0.2 -w 4\n" | locus replay --pool - --csv data/small.squid | cut -d, -f1-3
