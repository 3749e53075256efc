#!/bin/bash
# SPDX-License-Identifier: MIT
#
# arch.sh SOURCE LIBLOCUS.A: the layers hold. The core needs memory and strings of libc and
# nothing else; policies do not know each other; the command and the benchmarks are built
# on the public headers, as any other program. TAP.
set -u
cd "$1" || exit 1
archive=$2
count=0

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

# The core's headers and what policies share in src/sched/, but none of a single policy.
policies_beyond_the_core() {
    local libc='assert|limits|stdbool|stddef|stdint|string' file header
    includes src/sched | grep -vE " <(locus/[a-z]+|($libc))\.h>$" | while read -r file header; do
        case $header in
        src/sched/*.h) [[ -f $header && ! -f ${header%.h}.c ]] ;;
        src/*/*) false ;;
        src/*.h) [[ -f $header ]] ;;
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

check "the core needs only memory and strings of libc" "$(undefined_beyond_libc_memory)"
check "the core includes no header of threads, files, clocks" "$(core_beyond_the_core)"
check "policies include the core's headers, never each other" "$(policies_beyond_the_core)"
check "sim/ includes only public headers of the library" "$(program_beyond_public sim)"
check "bench/ includes only public headers of the library" "$(program_beyond_public bench)"
echo "1..$count"
