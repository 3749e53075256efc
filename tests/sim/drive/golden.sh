#!/bin/bash
# SPDX-License-Identifier: MIT
#
# golden.sh LOCUS DIR RULES SUFFIX: every script of the folder through "locus drive", its
# output byte for byte against the recorded one (NAME.SUFFIX). Either may be compressed.
# TAP; a script without a recording fails.
set -u
locus=$(realpath "$1")
dir=$2
rules=$3
suffix=$4
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0

# unpack FILE TO: sets plain to FILE, or to TO with what FILE.gz holds.
unpack() {
    plain=$1
    if [[ ! -e $1 ]]; then
        plain=$2
        gzip -dc "$1.gz" >"$2"
    fi
}

agrees() {
    local base=$1 recorded
    unpack "$base.$suffix" "$scratch/recorded" || return 1
    recorded=$plain
    unpack "$base.ev" "$scratch/script.ev" || return 1
    "$locus" drive --rules "$rules" "$plain" >"$scratch/given" || return 1
    cmp -s "$recorded" "$scratch/given" && return 0
    diff -u --label recorded --label given "$recorded" "$scratch/given" | head -n 20
    return 1
}

for script in "$dir"/*.ev "$dir"/*.ev.gz; do
    [[ -e $script ]] || continue
    base=${script%.gz}
    base=${base%.ev}
    count=$((count + 1))
    if agrees "$base" >"$scratch/said" 2>&1; then
        echo "ok $count - ${base##*/}"
    else
        echo "not ok $count - ${base##*/}"
        sed 's/^/# /' "$scratch/said"
    fi
done
if [[ $count == 0 ]]; then
    count=1
    echo "not ok 1 - there are scripts in $dir"
fi
echo "1..$count"
