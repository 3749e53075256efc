# What was changed of the rules is said with them.
locus replay --servers 3 --policy wlc --slow-start 90m data/small.squid | grep ^rules
locus replay --servers 3 --policy wlc --slow-start 1500ms --slow-start-exponent 2 --slow-start-floor 50 data/small.squid | grep ^rules
locus replay --servers 3 --policy lblc --slow-start 1us --replace --max-entries 5 --no-server any --slow-start-exponent 2 --slow-start-floor 50 data/small.squid | grep ^rules
locus replay --servers 3 --policy wlc --slow-start 1h --json data/small.squid | grep -A3 rules_changed
