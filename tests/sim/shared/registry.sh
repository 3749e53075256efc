#!/bin/sh
# SPDX-License-Identifier: MIT
# locus registry and locus coalesce-bench from the shell: what they print, and their exit
# codes. Usage: registry.sh LOCUS. TAP.
locus=$1
. "$(dirname "$0")/redis.sh"

start s
LOCUS_REGISTRY_URI=redis+unix://$dir/s
export LOCUS_REGISTRY_URI

# check NAME CODE EXPECTED COMMAND ARGUMENTS...: compares stdout, times and dates blanked,
# and the exit code.
check() {
    name=$1 code=$2 expected=$3
    shift 3
    "$locus" "$@" >"$dir/out" 2>"$dir/err" <"$dir/in"
    rc=$?
    got=$(sed 's/ [0-9-]*T[0-9:]*Z$/ SINCE/; s/"since_ms":[0-9]*/"since_ms":N/
        s/"elapsed_us":[0-9]*/"elapsed_us":N/; s/"round_trips":[0-9]*/"round_trips":N/
        /^round trips/d' "$dir/out")
    verdict "$name" "$code" "$expected"
}

: >"$dir/in"
check "an empty registry lists nothing" 0 "" registry list
check "endpoints are put" 0 "" registry put web 192.0.2.1:80 192.0.2.2:80 -w 5
check "and listed" 0 "web: 2 live of 2, size 2
  192.0.2.1:80          5 up   SINCE
  192.0.2.2:80          5 up   SINCE" registry list
check "a guarded removal is refused with 1" 1 "" registry -m 2 remove web 192.0.2.1:80
said "and says so" "192.0.2.1:80: refused, fewer than 2 would remain"
check "half of two is one" 0 "" registry -m 50% remove web 192.0.2.1:80
check "and no less" 1 "" registry -m 50% quiesce web 192.0.2.2:80
check "down marks unhealthy" 0 "" registry down web 192.0.2.2:80
check "as JSON" 0 \
    '{"cluster":"web","address":"192.0.2.2:80","weight":5,"healthy":false,"since_ms":N}' \
    registry list --json web
check "an unknown cluster ends with 1" 1 "" registry list db
said "and is named" "db: not found"
check "an unknown endpoint ends with 1" 1 "" registry remove web x
check "a size is set" 0 "" registry resize web 7
check "and shown" 0 "web: 0 live of 1, size 7
  192.0.2.2:80          5 down SINCE" registry list

cat >"$dir/in" <<'LINES'
# comments and blanks are skipped

db 192.0.2.9:5432
db 192.0.2.8:5432 10
db 192.0.2.7:5432 10 down
LINES
check "lines are imported" 0 "3 imported, 0 lines malformed" registry import -
printf 'db\ndb a -1\ndb a 1 sideways\ndb a 1 up more\n' >"$dir/in"
check "malformed lines end with 3" 3 "0 imported, 4 lines malformed" registry import -
said "and are named" "-:2: weight: expected 0 to 2147483647"
check "unless that many are allowed" 0 "0 imported, 4 lines malformed" \
    registry --max-bad 4 import -
check "a file that is not there ends with 1" 1 "" registry import "$dir/none"
check "watch shows what is there" 0 "+ db 192.0.2.7:5432 10 down
+ db 192.0.2.8:5432 10 up
+ db 192.0.2.9:5432 1 up
+ web 192.0.2.2:80 5 down" registry watch --rounds 1

check "a drain needs a floor" 2 "" registry drain
check "what is not live goes in spite of a floor" 0 \
    "1 removals asked by 64 threads at once: 1 removed, 0 refused, 0 failed
live endpoints taken out below their cluster's floor: 0" registry -m 1 drain web
check "a drain names what it refused" 0 "refused db 192.0.2.8:5432
refused db 192.0.2.9:5432
3 removals asked by 64 threads at once: 1 removed, 2 refused, 0 failed
live endpoints taken out below their cluster's floor: 0" registry -m 2 drain
check "10,000 removals over 500 clusters at once stop at half of each" 0 \
    '{"asked":10000,"removed":5000,"refused":5000,"failed":0,"below_floor":0,"round_trips":N,"elapsed_us":N}' \
    registry -m 50% --demo 500 --json -q drain
check "in memory too" 0 \
    '{"asked":10000,"removed":8500,"refused":1500,"failed":0,"below_floor":0,"round_trips":N,"elapsed_us":N}' \
    registry -u mem: -m 3 --demo 500 --json -q drain
check "the demonstration leaves the registry alone" 0 "db: 2 live of 2, size 3
  192.0.2.8:5432         10 up   SINCE
  192.0.2.9:5432          1 up   SINCE" registry list
check "an empty registry cannot be drained" 4 "" registry -u mem: -m 1 drain
check "a floor is a number" 2 "" registry -m 1x list
check "or at most 100%" 2 "" registry -m 101% list
check "subcommands are known" 2 "" registry fill
check "and their arguments counted" 2 "" registry put web
check "a server that is away ends with 1" 1 "" registry -u redis+unix:///none list

check "coalesce-bench wants lists" 2 "" coalesce-bench --max-batch 1,x
check "of numbers in range" 2 "" coalesce-bench --concurrency 0
check "and no arguments" 2 "" coalesce-bench x
n=$((n + 1))
lines=$("$locus" coalesce-bench -d 50ms -r 1000 --concurrency 1,2 --max-batch 1,8 --json \
    --html "$dir/page" | grep -c '"max_batch":')
if [ "$lines" = 4 ] && grep -q '</html>' "$dir/page"; then
    echo "ok $n - coalesce-bench prints a line for each pair, and draws them"
else
    failed=1
    echo "not ok $n - coalesce-bench prints a line for each pair, and draws them"
fi
n=$((n + 1))
lines=$("$locus" coalesce-bench -d 50ms -r 1000 --concurrency 1 --max-batch 8 --json \
    --uri "$LOCUS_REGISTRY_URI" | grep -c '"max_batch":8')
if [ "$lines" = 1 ] && [ -z "$(redis-cli -s "$dir/s" keys '*bench*')" ]; then
    echo "ok $n - on a real Redis too, where it leaves nothing"
else
    failed=1
    echo "not ok $n - on a real Redis too, where it leaves nothing"
fi
echo "1..$n"
exit $failed
