for time in 0 10s '10s --slow-start-exponent 3' '10s --slow-start-floor 50'; do
    echo "slow start $time"
    locus gen --records 12000 --rate 500 --duration 500ms --duration-sigma 0.3 | locus replay --policy wlc --servers 10.0.0.1*10,10.0.0.2*10,10.0.0.3*10 --scenario data/join.scenario --slow-start $time --interval 2s --timeline - - | grep 10.0.0.4 | cut -d, -f1,4,5
done
