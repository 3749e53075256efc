#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs every cases/NAME.cmd in a folder (default: this script's) and compares what came out with
# NAME.out (stdout), NAME.err (stderr) and NAME.code (exit status). TAP on stdout.
#
#   run.sh LOCUS compare [FOLDER]
#   run.sh LOCUS update [FOLDER]    write down what comes out now; look at the difference
#                                   before committing it
set -u
locus=$(realpath "$1")
update=${2-}
cd "${3-$(dirname "$0")}" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
ln -s "$locus" "$work/locus"
PATH="$work:$PATH"
LC_ALL=C
export PATH LC_ALL
number=0
failed=0
for cmd in cases/*.cmd; do
    name=${cmd%.cmd}
    number=$((number + 1))
    sh "$cmd" >"$work/out" 2>"$work/err"
    echo $? >"$work/code"
    if [ "$update" = update ]; then
        for part in out err code; do
            cp "$work/$part" "$name.$part"
        done
    fi
    ok=ok
    for part in out err code; do
        if ! cmp -s "$work/$part" "$name.$part"; then
            ok='not ok'
            diff -u "$name.$part" "$work/$part" | sed 's/^/# /'
        fi
    done
    [ "$ok" = ok ] || failed=1
    printf '%s\n' "$ok $number - $(tr '\n' ' ' <"$cmd")"
done
echo "1..$number"
exit $failed
