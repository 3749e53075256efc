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

# includes FILES...: "file: header" per include line, quoted headers without the quotes.
includes() {
    grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<][^">]+' "$@" |
        sed -E 's/:[[:space:]]*#[[:space:]]*include[[:space:]]*/: /; s/: "/: /'
}

undefined_beyond_libc_memory() {
    local libc='malloc|free|memcpy|memmove|memset|memcmp|strcmp|strlen|__assert_fail'
    nm -A -u "$archive" | grep -vE " ($libc|locus_[a-z0-9_]+|_GLOBAL_OFFSET_TABLE_)$"
}

# Headers of src/ and what policies share in src/sched/, but none that a policy's file
# stands beside.
policies_beyond_the_core() {
    local libc='assert|limits|stdbool|stddef|stdint|string' file header
    find src/sched -name '*.[ch]' | while read -r file; do
        includes "$file"
    done | grep -vE ": <(locus/[a-z]+\.h|($libc)\.h)$" | while IFS=': ' read -r file header; do
        header=$(realpath -m --relative-to=. "src/sched/$header")
        case $header in
        src/sched/*.h) [[ -f $header && ! -f ${header%.h}.c ]] ;;
        src/*/*) false ;;
        src/*.h) [[ -f $header ]] ;;
        *) false ;;
        esac || echo "$file: $header"
    done
}

core_beyond_the_core() {
    find src -maxdepth 1 -name '*.[ch]' | while read -r file; do
        includes "$file"
    done | grep -E ': (<(pthread|stdio|time|unistd|errno|sys/|hiredis)|.*shared/)'
}

# program_beyond_public FOLDER: its quoted headers are its own.
program_beyond_public() {
    find "$1" -name '*.[ch]' | while read -r file; do
        includes "$file"
    done | while IFS=': ' read -r file header; do
        case $header in
        '<locus/'*) [[ -f include/${header#<} ]] || echo "$file: $header" ;;
        '<'*) ;;
        *) case $(realpath -m --relative-to=. "$(dirname "$file")/$header") in
            "$1"/*) ;;
            *) echo "$file: $header" ;;
            esac ;;
        esac
    done
}

check "the core needs only memory and strings of libc" "$(undefined_beyond_libc_memory)"
check "the core includes no header of threads, files, clocks" "$(core_beyond_the_core)"
check "policies include the core's headers, never each other" "$(policies_beyond_the_core)"
check "sim/ includes only public headers of the library" "$(program_beyond_public sim)"
check "bench/ includes only public headers of the library" "$(program_beyond_public bench)"
echo "1..$count"
