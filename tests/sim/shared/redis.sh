# SPDX-License-Identifier: MIT
# What the tests of commands over Redis begin with; sourced by them. A scratch folder $dir, TAP's
# count $n and $failed, start NAME: a server on the socket $dir/NAME, its process in $pid; and
# what they say of a command that left its stderr in $dir/err.
n=0
failed=0
dir=$(mktemp -d) || exit 1
pids=

if ! command -v redis-server >/dev/null; then
    rmdir "$dir"
    echo "1..0 # SKIP no redis-server"
    exit 0
fi

finish() {
    for p in $pids; do
        kill -9 "$p" 2>/dev/null
    done
    rm -rf "$dir"
}
trap finish EXIT

start() {
    redis-server --port 0 --unixsocket "$dir/$1" --dir "$dir" --save '' >/dev/null 2>&1 &
    pid=$!
    pids="$pids $pid"
    tries=0
    until redis-cli -s "$dir/$1" ping >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 100 ] || exit 1
        sleep 0.1
    done
}

# verdict NAME CODE EXPECTED: whether the command ended with $rc as CODE and said $got as EXPECTED.
verdict() {
    n=$((n + 1))
    if [ "$rc" = "$2" ] && [ "$got" = "$3" ]; then
        echo "ok $n - $1"
    else
        failed=1
        echo "not ok $n - $1"
        echo "# exit code $rc, expected $2"
        echo "$got" | sed 's/^/# got: /'
        sed 's/^/# stderr: /' "$dir/err"
    fi
}

# said NAME TEXT: the last stderr contains it.
said() {
    n=$((n + 1))
    if grep -qF -- "$2" "$dir/err"; then
        echo "ok $n - $1"
    else
        failed=1
        echo "not ok $n - $1"
        sed 's/^/# stderr: /' "$dir/err"
    fi
}
