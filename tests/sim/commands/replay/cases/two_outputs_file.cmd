locus replay --servers 2 --metrics same --timeline same data/small.squid; ls same 2>/dev/null
