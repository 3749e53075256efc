#!/bin/bash
# SPDX-License-Identifier: MIT
#
# arch.sh SOURCE LIBLOCUS.A [ARCHIVE...]: the layers hold. The core needs memory and strings of
# libc and nothing else; policies do not know each other; the command and the benchmarks are
# built on the public headers, as any other program; no file depends on itself, by includes or
# by calls, and no room of the core or of sim/ on one above it. TAP.
set -u
cd "$1" || exit 1
archive=$2
archives=("${@:2}")
count=0

# The rooms of a tree from the ground up: each may include from itself and from those in front of
# it. sim/main.c stands on top of all of sim/.
declare -A rooms=(
    [src]='base state load destinations sched servers service snapshot'
    [sim]='base records formats trace servers policy pool engine report drive shared cli advise
        replay commands'
)

# check NAME OFFENDERS: fails when there are any, and lists them.
check() {
    count=$((count + 1))
    if [[ -z $2 ]]; then
        echo "ok $count - $1"
    else
        echo "not ok $count - $1"
        sed 's/^/# /' <<<"$2"
    fi
}

# includes FOLDER...: "file header" per include line below them; <a.h> as it is, "a.h" as the
# path it has from here.
includes() {
    local file header dir
    grep -rHoE --include='*.[ch]' '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]+' "$@" |
        sed -E 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/ /' |
        while read -r file header; do
            dir=${file%/*}
            if [[ $header == '<'* ]]; then
                echo "$file $header>"
                continue
            fi
            header=${header#\"}
            while [[ $header == ../* && $dir != . ]]; do
                header=${header#../}
                [[ $dir == */* ]] && dir=${dir%/*} || dir=.
            done
            echo "$file $dir/$header"
        done
}

undefined_beyond_libc_memory() {
    local libc='malloc|free|memcpy|memmove|memset|memcmp|strcmp|strlen|__assert_fail'
    nm -A -u "$archive" | grep -vE " ($libc|locus_[a-z0-9_]+|_GLOBAL_OFFSET_TABLE_)$"
}

# The core's headers and what policies share in src/sched/, but none of a single policy. The
# table of policies knows them all.
policies_beyond_the_core() {
    local libc='assert|limits|stdbool|stddef|stdint|string' file header
    includes src/sched | grep -vE " <(locus/[a-z]+|($libc))\.h>$" | while read -r file header; do
        [[ $file != src/sched/schedulers.? ]] || continue
        case $header in
        src/sched/*.h) [[ -f $header && ! -f ${header%.h}.c ]] ;;
        src/shared/*) false ;;
        src/*/*.h) [[ -f $header ]] ;;
        *) false ;;
        esac || echo "$file: $header"
    done
}

core_beyond_the_core() {
    includes src | grep -v '^src/shared/' |
        grep -E ' (<(pthread|stdio|time|unistd|errno|sys/|hiredis)|src/shared/)'
}

# program_beyond_public FOLDER: its quoted headers are its own.
program_beyond_public() {
    local file header
    includes "$1" | while read -r file header; do
        case $header in
        '<locus/'*) [[ -f include/${header//[<>]/} ]] ;;
        '<'* | "$1"/*) ;;
        *) false ;;
        esac || echo "$file: $header"
    done
}

# Quoted headers are found from the file that includes them, never through an include path,
# which could lead anywhere.
through_a_path() {
    local file header
    includes "$@" | grep -v ' <' | while read -r file header; do
        [[ -f $header ]] || echo "$file: $header"
    done
}

# Reads "A B" lines: A depends on B. Prints what depends on itself in the end.
circles() {
    tsort 2>&1 >/dev/null | sed 's/^tsort: //' | grep -v 'input contains' | sort -u
}

# A source and its header are one.
include_circles() {
    includes "$@" | grep -v ' <' | sed -E 's/\.[ch]( |$)/\1/g' | awk '$1 != $2' | circles
}

# By the symbols that an object file of the archives needs and another one has.
call_circles() {
    nm -A "$@" 2>/dev/null | awk '
        { object = $1; sub(/:[^:]*$/, "", object); gsub(/.*[\/:]|\.c\.o$/, "", object) }
        NF == 3 && $2 ~ /^[A-TV-Z]$/ { has[$3] = object }
        NF == 3 && $2 == "U" { needs[++n] = object; symbol[n] = $3 }
        END {
            for (i = 1; i <= n; i++)
                if (symbol[i] in has && has[symbol[i]] != needs[i])
                    print needs[i], has[symbol[i]]
        }' | circles
}

# room PATH: which of the rooms of its tree, by number; 99 for what stands above or outside.
room() {
    local tree=${1%%/*} name number=0
    for name in ${rooms[$tree]-}; do
        number=$((number + 1))
        [[ $1 != "$tree/$name"/* ]] || { echo $number && return; }
    done
    echo 99
}

# upward TREE
upward() {
    local file header
    includes "$1" | grep -v ' <' | grep -v '^src/shared/' | while read -r file header; do
        (($(room "$file") >= $(room "$header"))) || echo "$file: $header"
    done
}

# homeless TREE: a folder that nobody has given a place, or a file in none.
homeless() {
    local path
    for path in "$1"/*/ "$1"/*.[ch]; do
        [[ $path == src/shared/ || $path == sim/main.c || ! -e $path ]] ||
            (($(room "$path") < 99)) || echo "$path"
    done
}

# The same on a tree with one such include planted in it, to see that it is found.
planted_and_not_found() (
    tree=$(mktemp -d) || exit 1
    trap 'rm -rf "$tree"' EXIT
    mkdir -p "$tree/bench" "$tree/src/shared" && cd "$tree" || exit 1
    touch src/shared/redis.h bench/own.h
    printf '#include "own.h"\n#include "redis.h"\n' >bench/pool.c
    printf '#include "../src/shared/redis.h"\n' >bench/other.c
    [[ $(through_a_path bench) == "bench/pool.c: bench/redis.h" ]] || echo "through an include path"
    [[ $(program_beyond_public bench) == *bench/other.c* ]] || echo "by its path"
    mkdir -p sim/base sim/trace && touch sim/trace/trace.h sim/base/slice.h
    echo '#include "../trace/trace.h"' >sim/base/slice.c
    [[ $(upward sim) == "sim/base/slice.c: sim/trace/trace.h" ]] || echo "upward"
    echo '#include "../base/slice.h"' >sim/trace/trace.h
    mkdir -p src/load src/sched && touch src/sched/lc.h
    echo '#include "../sched/lc.h"' >src/load/select.h
    [[ $(upward src) == "src/load/select.h: src/sched/lc.h" ]] || echo "upward in the core"
    [[ $(include_circles sim) == *sim/base/slice* ]] || echo "a circle"
)

check "the core needs only memory and strings of libc" "$(undefined_beyond_libc_memory)"
check "the core includes no header of threads, files, clocks" "$(core_beyond_the_core)"
check "policies include the core's headers, never each other" "$(policies_beyond_the_core)"
check "sim/ includes only public headers of the library" "$(program_beyond_public sim)"
check "bench/ includes only public headers of the library" "$(program_beyond_public bench)"
check "quoted headers are found without an include path" "$(through_a_path src sim bench)"
check "no room of the core includes from one above it" "$(upward src)"
check "no room of sim/ includes from one above it" "$(upward sim)"
check "every file of the core is in one of its rooms" "$(homeless src)"
check "every file of sim/ is in one of its rooms" "$(homeless sim)"
check "no file includes itself in the end" "$(include_circles src sim bench)"
check "no file calls itself in the end" "$(call_circles "${archives[@]}")"
check "an internal header, an upward include, a circle would be found" "$(planted_and_not_found)"
echo "1..$count"
