#!/bin/bash
# SPDX-License-Identifier: MIT
#
# instructions.sh PICKS LIBLOCUS: that speed does not rot unseen. Counts the instructions of pick + open
# + close, of locus and of the stock uthash design in the same build, and bounds their ratio:
# a count is the same on every run and loaded machine, a time is not. What the ratio does
# not see (caches, jumps) is locus-bench's; but that batches fetch ahead is looked up in the
# library, since a compiler was seen to drop it. TAP.
set -u
picks=$1 library=$2
# Set by meson, it has malloc fill what it hands out, within what is counted.
unset MALLOC_PERTURB_
count=0

if ! command -v valgrind >/dev/null; then
    echo "1..0 # SKIP valgrind counts the instructions, and is not installed"
    exit 0
fi

# instructions DESIGN POLICY DESTINATIONS SERVERS PICKS: instructions, or nothing.
instructions() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        --toggle-collect=counted_picks "$picks" "$@" 2>&1 |
        sed -n 's/^==[0-9]*== Collected : *\([0-9]*\).*/\1/p'
}

# check BOUND DESIGN POLICY DESTINATIONS SERVERS PICKS: the ratio, in hundredths, is no more.
check() {
    local bound=$1 design=$2 mine its
    shift 2
    mine=$(instructions "$design" "$@")
    its=$(instructions uthash "$@")
    count=$((count + 1))
    if [[ -n $mine && -n $its ]] && ((its > 0 && 100 * mine <= bound * its)); then
        echo "ok $count - $design, $1, $2 destinations, $3 servers"
    else
        echo "not ok $count - $design, $1, $2 destinations, $3 servers"
    fi
    echo "# ${mine:-none} instructions, uthash ${its:-none}, for $4 picks; at most $bound %"
}

# What gcc 12 and clang 14 make with -O2 and -O3, and about 5 % more.
check 140 locus lblc 2000 16 5000
check 133 locus-batch lblc 2000 16 4992
check 145 locus lblcr 2000 16 5000
check 185 locus wlc 1000 4 5000
check 95 locus wlc 1000 16 5000
check 18 locus wlc 1000 256 1000
count=$((count + 1))
if objdump -d "$library" | grep -qE '[[:space:]](prefetch|prfm)'; then
    echo "ok $count - batches fetch ahead"
else
    case $(uname -m) in
    x86_64 | aarch64) echo "not ok $count - batches fetch ahead" ;;
    *) echo "ok $count - batches fetch ahead # SKIP how $(uname -m) fetches is not known" ;;
    esac
fi
echo "1..$count"
