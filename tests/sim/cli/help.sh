#!/bin/bash
# SPDX-License-Identifier: MIT
#
# help.sh LOCUS: what the command says of itself, for every command in its table: help that
# fits a terminal, a man page and a completion that their readers accept. TAP.
set -u
locus=$(realpath "$1")
source=$(dirname "$(realpath "$0")")/../../..
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0

# check NAME COMMAND...: one line of TAP; what the command printed explains a failure.
check() {
    local name=$1
    shift
    count=$((count + 1))
    if "$@" >"$scratch/said" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/# /' "$scratch/said"
    fi
}

prints_help() {
    "$locus" "$@" >"$scratch/help" 2>"$scratch/errors" || return 1
    cat "$scratch/errors"
    [[ -s $scratch/help && ! -s $scratch/errors ]]
}

fits_80_columns() {
    ! grep -nE '^.{80,}| $' "$scratch/help"
}

# The second of two options of one name could never be given.
names_each_option_once() {
    ! grep -oE '^  --[a-z0-9-]+' "$scratch/help" | sort | uniq -d | grep .
}

# exits STATUS ARGUMENTS...: nothing on stdout, one line on stderr.
refuses() {
    local status=0
    "$locus" "$@" >"$scratch/out" 2>"$scratch/errors" || status=$?
    cat "$scratch/out" "$scratch/errors"
    [[ $status == 2 && ! -s $scratch/out && $(wc -l <"$scratch/errors") == 1 ]]
}

fails_on_a_full_disk() {
    local status=0
    "$locus" "$@" >/dev/full || status=$?
    [[ $status == 1 ]]
}

man_page_is_clean() {
    "$locus" --man >"$scratch/locus.1" || return 1
    # As lintian does it: every warning of groff is a line.
    LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z \
        "$scratch/locus.1" 2>"$scratch/warnings" >/dev/null || cat "$scratch/warnings"
    cat "$scratch/warnings"
    [[ ! -s $scratch/warnings ]]
}

man_page_names_every_command() {
    local command
    for command in $commands; do
        grep -qF ".SS locus $command" "$scratch/locus.1" || return 1
    done
}

completion_parses() {
    "$locus" --completion bash >"$scratch/completion" && bash -n "$scratch/completion"
}

# completes WORDS... EXPECTED: the last word is completed; EXPECTED is among the answers.
completes() {
    local expected=${*: -1}
    COMP_WORDS=(locus "${@:1:$#-1}")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _locus
    printf '%s\n' "${COMPREPLY[@]}"
    [[ " ${COMPREPLY[*]} " == *" $expected "* ]]
}

# The block of the README that begins with the report's first line.
demo_prints_what_the_readme_says() {
    cd "$source" || return 1
    sed -n '/^trace    demo/,/^```/{/^```/!p}' README.md >"$scratch/expected"
    [[ -s $scratch/expected ]] || return 1
    "$locus" replay --servers 4 --policy wlc,lblc,lblcr,dh traces/demo.squid.log |
        diff "$scratch/expected" -
}

# And its picture, which is XML.
demo_draws_the_picture_of_the_readme() {
    cd "$source" || return 1
    "$locus" replay --servers 4 --policy wlc,lblc,lblcr,dh --svg "$scratch/demo.svg" \
        traces/demo.squid.log >/dev/null &&
        python3 -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' \
            "$scratch/demo.svg" && cmp traces/demo.svg "$scratch/demo.svg"
}

check "the overview is printed" prints_help --help
check "the overview fits 80 columns" fits_80_columns
commands=$(sed -n '/^commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' "$scratch/help")

for command in $commands; do
    check "$command --help is printed" prints_help "$command" --help
    check "$command --help fits 80 columns" fits_80_columns
    check "$command --help names each option once" names_each_option_once
    check "$command refuses an unknown option" refuses "$command" --no-such-option
done

check "no command is refused" refuses
check "an unknown command is refused" refuses no-such-command
check "an unknown shell is refused" refuses --completion tcsh
check "a full disk is an error" fails_on_a_full_disk --help
check "the man page has no warnings" man_page_is_clean
check "the man page names every command" man_page_names_every_command
check "the completion parses" completion_parses

. "$scratch/completion" || echo "Bail out! the completion cannot be read"
check "an option is completed" completes --ver --version
check "a value is completed" completes --completion ba bash
for command in $commands; do
    check "$command is completed" completes "${command%?}" "$command"
    check "the options of $command are completed" completes "$command" --hel --help
done

check "a list of values is completed" completes replay --policy wlc,lblc wlc,lblcr
check "a value behind '=' is completed" completes replay --rules = kernel-c kernel-classic
check "the demo prints what the README says" demo_prints_what_the_readme_says
check "the demo draws the README's picture" demo_draws_the_picture_of_the_readme

echo "1..$count"
