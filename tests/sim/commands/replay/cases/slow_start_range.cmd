for option in '--slow-start 25h' '--slow-start 5s --slow-start-exponent 9' '--slow-start 5s --slow-start-floor 0' '--slow-start fast'; do
    locus replay --servers 3 $option data/small.squid
done
