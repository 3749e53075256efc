#!/bin/sh
# SPDX-License-Identifier: MIT
# locus pool from the shell: what it prints, and its exit codes. Usage: pool.sh LOCUS. TAP.
locus=$1
. "$(dirname "$0")/redis.sh"

start s
LOCUS_POOL_URI=redis+unix://$dir/s
export LOCUS_POOL_URI

# check NAME CODE EXPECTED ARGUMENTS...: runs locus pool, compares its stdout and exit code.
check() {
    name=$1 code=$2 expected=$3
    shift 3
    got=$("$locus" pool "$@" 2>"$dir/err")
    rc=$?
    verdict "$name" "$code" "$expected"
}

check "an empty pool ends with 4" 4 "" pick
said "and says so" "no live member"
check "members are added" 0 "3 of 3 added" add b a "c d"
check "twice is once" 0 "0 of 1 added" add a
check "picks take the least, one a line" 0 "a
b
c d
a" pick -n 4
check "a list shows members and counts" 0 "member            count   leases state
b                     1        0 live
c d                   1        0 live
a                     2        0 live" list
check "and in JSON" 0 '{"member":"b","count":1,"state":"live","streak":0,"leases":0}
{"member":"c d","count":1,"state":"live","streak":0,"leases":0}
{"member":"a","count":2,"state":"live","streak":0,"leases":0}' list --json
check "a start count is taken" 0 "1 of 1 added" add --start 9 z
check "stats add up" 0 '{"live":4,"removed":0,"unhealthy":0,"count":13,"lowest":1,"highest":9,"leases":0}' \
    stats --json
check "a malformed start is wrong usage" 2 "" add --start many y
check "removal keeps the count" 0 "" remove z "c d"
check "dropping does not" 0 "" remove --drop z
check "an unknown member is an error" 1 "" remove nobody
said "and is named" "nobody: not found"
check "restoring brings it back" 0 "" restore "c d"
check "a dropped one is unknown" 1 "" restore z
check "a failure is reported" 0 "unhealthy" report --fail-after 1 "c d" fail
check "a success too" 0 "live" report --restore-after 1 "c d" ok
check "a report is ok or fail" 2 "" report a maybe

"$locus" pool acquire >"$dir/lease"
read -r id member <"$dir/lease"
check "a lease shows" 0 '{"live":3,"removed":0,"unhealthy":0,"count":4,"lowest":1,"highest":2,"leases":1}' \
    stats --json
check "a lease is renewed" 0 "" renew --ttl 10min "$id"
check "and released" 0 "" release "$id"
check "twice is no error" 0 "" release "$id"
check "renewing what has ended is one" 1 "" renew "$id"
check "an id has a form" 2 "" release "$member"
check "limits are kept" 0 "" limit a 1
check "as numbers" 2 "" limit a x
"$locus" pool -p full add only >/dev/null
"$locus" pool -p full acquire >/dev/null
check "all at their limits is nothing to give" 4 "" -p full acquire --limit 1

cat >"$dir/list.csv" <<LIST
IP,Port,Protocol,Country
192.0.2.1,80,HTTP,XX
8.8.8.8,80,HTTP,US
8.8.8.8,80,http,"again, quoted"
8.8.4.4,70000,HTTP,US
1.1.1.1,3128,socks5,AU
short
LIST
check "a list is judged without a server" 0 "http://8.8.8.8:80
socks5://1.1.1.1:3128
2 eligible, 0 added; 1 refused, 1 duplicates, 2 malformed
       1  address is for documentation
       1  is there already
       1  port is not a number from 1 to 65535
       1  has not as many fields as the header" --uri mem: --dry-run import "$dir/list.csv"
said "each refusal is named by its line" "list.csv:5: '8.8.4.4,70000,HTTP,US': port is not"
check "what is eligible is added" 0 \
    '{"lines":7,"eligible":1,"added":1,"refused":2,"duplicates":1,"malformed":2,"reasons":{"address is for documentation":1,"is there already":1,"port is not a number from 1 to 65535":1,"scheme is not wanted":1,"has not as many fields as the header":1}}' \
    -p imported --schemes http --json import "$dir/list.csv"
check "too many malformed lines add nothing" 3 "" -p bad --max-bad 1 import "$dir/list.csv"
check "nothing was" 4 "" -p bad pick
check "a missing file is an error" 1 "" import "$dir/nowhere"
check "a malformed range is wrong usage" 2 "" --allow 10.0.0.1/8 import "$dir/list.csv"
printf 'no,such,header\n' >"$dir/no.csv"
check "a CSV header names host and port" 2 "" --format csv import "$dir/no.csv"
printf '{"host":"8.8.8.8","port":"53"}\n{"host":1}\n{\n[]\n{"ip":"1.1.1.1","port":53.5}\n' \
    >"$dir/list.json"
check "JSON lines are read" 0 "8.8.8.8:53
1 eligible, 0 added; 0 refused, 0 duplicates, 4 malformed
       1  has no text named host, ip or address
       2  is not a JSON object
       1  port is not a number from 1 to 65535" --dry-run import "$dir/list.json"

check "watch stops after its rounds" 0 "full: 1 live, 0 removed, 0 unhealthy; 0 picks/s; spread 0; 1 leases
member            count   leases state
only                  0        1 live" -p full watch --rounds 1
check "a rebase takes the minimum off" 0 "" rebase
check "a pool is cleared" 0 "" clear
check "and then empty" 4 "" pick
check "a subcommand is needed" 2 ""
check "and known" 2 "" pluck
check "with its arguments" 2 "" add
check "a URI has a form" 2 "" --uri http://x pick
check "a server that is away ends with 1" 1 "" --uri redis://:hunter2@127.0.0.1:1 --timeout 50ms pick
n=$((n + 1))
if grep -q hunter2 "$dir/err"; then
    failed=1
    echo "not ok $n - the password is not shown"
else
    echo "ok $n - the password is not shown"
fi
unset LOCUS_POOL_URI
check "a URI is needed" 2 "" pick
echo "1..$n"
exit $failed
