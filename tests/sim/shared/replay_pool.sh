#!/bin/sh
# SPDX-License-Identifier: MIT
# Policy leastalloc of locus replay over Redis: the picks of mem:, nothing left behind, clear
# failures. Usage: replay_pool.sh LOCUS. TAP.
locus=$1
. "$(dirname "$0")/redis.sh"

# result NAME: by the exit code of the command before.
result() {
    rc=$?
    n=$((n + 1))
    if [ $rc = 0 ]; then
        echo "ok $n - $1"
    else
        failed=1
        echo "not ok $n - $1"
        [ ! -s "$dir/err" ] || sed 's/^/# stderr: /' "$dir/err"
    fi
}

# ended CODE TEXT: so ended the command before, and stderr contains the text.
ended() {
    ended_rc=$?
    [ $ended_rc = "$1" ] && grep -qF -- "$2" "$dir/err"
}

keys() {
    redis-cli -s "$dir/$1" keys 'locus:{locus-replay-*'
}

# wait_for_key NAME: until a pool is there.
wait_for_key() {
    tries=0
    until [ -n "$(keys "$1")" ]; do
        tries=$((tries + 1))
        [ $tries -lt 300 ] || return 1
        sleep 0.02
    done
}

# replay URI OPTIONS...: what came of it goes to $dir/out, every pick to $dir/picks.
replay() {
    uri=$1
    shift
    "$locus" replay --policy leastalloc --pool-uri "$uri" --decisions "$dir/picks" \
        "$@" "$dir/trace" >"$dir/out" 2>"$dir/err"
}

# alike NAME OPTIONS...: both pools make the same picks, and the server keeps no key.
alike() {
    name=$1
    shift
    replay mem: "$@" && mv "$dir/picks" "$dir/picks.mem" && mv "$dir/out" "$dir/out.mem"
    result "$name, in memory"
    replay "redis+unix://$dir/s" "$@" && cmp -s "$dir/picks" "$dir/picks.mem" &&
        cmp -s "$dir/out" "$dir/out.mem"
    result "$name, over Redis the same"
    [ "$(redis-cli -s "$dir/s" dbsize)" = 0 ]
    result "$name, and no key is left"
}

# The one that takes longest goes on beside the others.
{
    "$locus" replay --policy leastalloc --pool-uri redis://:hunter2@127.0.0.1:1 --servers 2 \
        /nowhere 2>"$dir/err.away"
    echo $? >"$dir/rc.away"
} &
away=$!
start s
"$locus" gen --records 3000 --to csv --output "$dir/trace"
"$locus" gen --records 400000 --to csv --output "$dir/long"
cat >"$dir/events" <<EVENTS
0.5s weight 10.0.0.2:80 0
0.8s weight 10.0.0.2:80 7
1s remove 10.0.0.3:80
1s add 10.0.0.9:80 5
1.2s fail 10.0.0.1:80
1.5s restore 10.0.0.1:80
2s restore 10.0.0.3:80
EVENTS
echo '1h guard 1' >"$dir/late" # makes the replay pick one by one
echo '0s fail 10.0.0.1:80' >"$dir/none"

alike "servers that stay" --servers 5
awk -F, 'NR > 1 { count[$4]++ } END { for (s in count) { if (count[s] != 600) exit 1 } }' "$dir/picks"
result "each as often as the others"
alike "servers that come and go" --servers 4 --scenario "$dir/events"
alike "servers that fill up" --servers '10.0.0.1*9/40/20,10.0.0.2*9/200,10.0.0.3*9'
alike "nobody there" --servers 1 --scenario "$dir/none"

: >"$dir/err"
replay mem: --servers 5 && mv "$dir/picks" "$dir/picks.steady"
replay "redis+unix://$dir/s" --servers 5 --scenario "$dir/late" && cmp -s "$dir/picks" "$dir/picks.steady"
result "one by one as many at once"

"$locus" replay --policy wlc --pool-uri mem: --servers 2 "$dir/trace" 2>"$dir/err"
ended 2 '--pool-uri: only leastalloc has a pool'
result "a URI without the policy is wrong usage"
replay http://x --servers 2
ended 2 'expected mem:, redis://'
result "a URI has a form"
wait $away
cp "$dir/err.away" "$dir/err"
(exit $(cat "$dir/rc.away"))
ended 1 'Connection refused' && ! grep -q hunter2 "$dir/err"
result "a server that is away ends it before the trace is read, and no password is shown"

"$locus" replay --policy leastalloc --pool-uri "redis+unix://$dir/s" --servers 2 \
    --scenario "$dir/late" "$dir/long" >"$dir/out" 2>"$dir/err" &
run=$!
pids="$pids $run"
wait_for_key s && kill -INT $run
wait $run
ended 1 'interrupted' && [ -z "$(keys s)" ]
result "after an interrupt no key is left"

"$locus" replay --policy leastalloc,rr --pool-uri "redis+unix://$dir/s" --servers 2 \
    --scenario "$dir/late" "$dir/long" >"$dir/out" 2>"$dir/err" &
run=$!
pids="$pids $run"
wait_for_key s && redis-cli -s "$dir/s" set "$(keys s)" text >/dev/null
wait $run
ended 1 'leastalloc: ' && grep -q WRONGTYPE "$dir/err" && [ -z "$(keys s)" ] && ! [ -s "$dir/out" ]
result "a pool that others spoil ends it"

"$locus" replay --policy leastalloc --pool-uri "redis+unix://$dir/s" --servers 2 \
    --scenario "$dir/late" "$dir/long" >"$dir/out" 2>"$dir/err" &
run=$!
pids="$pids $run"
wait_for_key s && redis-cli -s "$dir/s" flushall >/dev/null
wait $run
ended 1 'somebody else emptied the pool' && ! [ -s "$dir/out" ]
result "a pool that others empty ends it"

"$locus" replay --policy leastalloc --pool-uri "redis+unix://$dir/s" --servers 2 \
    --scenario "$dir/late" "$dir/long" >"$dir/out" 2>"$dir/err" &
run=$!
wait_for_key s && kill -9 $run
wait $run 2>"$dir/err"
left=$(keys s)
[ -n "$left" ] && [ "$(redis-cli -s "$dir/s" ttl "$left")" -gt 0 ] && redis-cli -s "$dir/s" del "$left" >"$dir/err"
result "what a killed run leaves there ends by itself"

start t
"$locus" replay --policy leastalloc --pool-uri "redis+unix://$dir/t" --servers 2 \
    --scenario "$dir/late" "$dir/long" >"$dir/out" 2>"$dir/err" &
run=$!
pids="$pids $run"
wait_for_key t && kill -9 $pid
wait $run
ended 1 'leastalloc: ' && grep -q "may be left on the server: .*--pool locus-replay-" "$dir/err"
result "a server that dies meanwhile ends it"

echo "1..$n"
exit $failed
