#!/bin/bash
# SPDX-License-Identifier: MIT
#
# run.sh SOURCE BUILD CC CXX: installs the build into a scratch folder and uses it there as
# a stranger would: headers in C and C++, both libraries through pkg-config, the README's
# program, the man page. TAP.
set -u
source=$1 build=$2 cc=$3 cxx=$4
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
count=0

# check NAME COMMAND...: one line of TAP; what the command printed explains a failure.
check() {
    local name=$1
    shift
    count=$((count + 1))
    if "$@" >"$stage/said" 2>&1; then
        echo "ok $count - $name"
    else
        echo "not ok $count - $name"
        sed 's/^/# /' "$stage/said"
    fi
}

# DESTDIR does not reach into .pc files, and a pkg-config sysroot would move the system's
# own packages too; so the prefix is corrected where it is written.
install_staged() {
    DESTDIR=$stage/root meson install -C "$build" --no-rebuild --quiet || return 1
    sed -i "s|^prefix=|&$stage/root|" $(find "$stage/root" -name '*.pc')
}

compiles() {
    local compiler=$1 standard=$2 language=$3 header=$4
    echo "#include <locus/$header>" >"$stage/header.$language"
    # Twice: the guard holds.
    echo "#include <locus/$header>" >>"$stage/header.$language"
    $compiler -std="$standard" -Wall -Wextra -pedantic -Werror -I"$include" \
        -fsyntax-only "$stage/header.$language"
}

foreign() {
    ! nm "$@" | awk 'NF >= 3 && $3 !~ /^locus_/ { print; found = 1 } END { exit !found }'
}

exports_something() {
    nm -D --defined-only "$1" | grep -q ' locus_'
}

# links NAME LINKER_FLAG PKG_CONFIG_FLAG: a program that needs every public function.
links() {
    local name=$1 how=$2 more=$3 wanted
    wanted=$(nm -D --defined-only "$libdir/lib$name.so" | sed 's/.* /-Wl,-u,/')
    echo 'int main(void) { return 0; }' >"$stage/main.c"
    $cc $how -o "$stage/main" "$stage/main.c" $wanted $(pkg-config $more --libs "$name") ||
        return 1
    "$stage/main"
}

# What a program that links the shared library must not be made to name.
names_only_locus() {
    pkg-config --libs "$1" | tee /dev/stderr | tr ' ' '\n' | grep '^-l' |
        grep -vqE '^-llocus' && return 1
    return 0
}

# block LANGUAGE: the README's fenced block of that language that belongs to example.c, or,
# for text, the one right behind it.
block() {
    awk -v wanted="$1" '
        /^```/ && inside { if (inside == wanted && mine) exit; inside = ""; next }
        /^```/ { inside = substr($0, 4); if (inside == "") inside = "text"; first = 1; next }
        inside && first { first = 0; if (inside == "c") mine = /example\.c/ }
        inside == wanted && mine { print }
    ' "$source/README.md"
}

example_prints_what_the_readme_says() {
    block c >"$stage/example.c"
    block text >"$stage/expected"
    [[ -s $stage/example.c && -s $stage/expected ]] || return 1
    $cc -std=c17 -Wall -Wextra -pedantic -Werror -o "$stage/example" "$stage/example.c" \
        $(pkg-config --cflags --libs locus) || return 1
    LD_LIBRARY_PATH=$libdir "$stage/example" | diff "$stage/expected" -
}

# installed PATTERN
installed() {
    find "$stage/root" -path "$1" | grep .
}

check "meson install works" install_staged
include=$(dirname "$(find "$stage/root" -type d -path '*include/locus')")
libdir=$(dirname "$(find "$stage/root" -name 'liblocus.a')")
export PKG_CONFIG_PATH=$libdir/pkgconfig
export LD_LIBRARY_PATH=$libdir

for header in $(cd "$include/locus" && ls); do
    check "$header compiles as C17" compiles "$cc" c17 c "$header"
    check "$header compiles as C++11" compiles "$cxx" c++11 cc "$header"
done
for pc in "$libdir"/pkgconfig/*.pc; do
    name=$(basename "$pc" .pc)
    check "lib$name.so exports functions" exports_something "$libdir/lib$name.so"
    check "lib$name.so exports nothing but locus_" foreign -D --defined-only "$libdir/lib$name.so"
    check "lib$name.a has no global name but locus_" foreign -g --defined-only "$libdir/lib$name.a"
    check "lib$name.so has a version" installed "*/lib$name.so.0"
    check "$name links with the shared library" links "$name" '' ''
    check "$name links statically" links "$name" -static --static
    check "$name asks for no library but its own" names_only_locus "$name"
done
check "the README's program prints what it says" example_prints_what_the_readme_says
if [[ -x $build/sim/locus ]]; then
    check "the command is installed" installed '*/bin/locus'
    check "the man page is installed" installed '*/man1/locus.1'
    check "the completion is installed" installed '*/bash-completion/completions/locus.bash'
fi
echo "1..$count"
