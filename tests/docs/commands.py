#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""commands.py [--slow] SOURCE BUILD FEATURE...: what the pages tell you to type works. TAP.
commands.py --update SOURCE BUILD FEATURE...: writes down what the blocks print now; look at the
difference before you commit it.

Every ```sh block of README.md, ARCHITECTURE.md, HACKING.md and docs/*.md runs, page by page,
in a scratch copy of the tree where build/ is the build that is being tested: one shell for
a page, so that a block may use what the block before it made. A ```text block right behind it
is what it prints. Every path in backticks and every link leads somewhere.

A comment in front of a block says what is special about it:

  <!-- not run: WHY -->     needs root, the network, other machines, minutes
  <!-- slow: WHY -->        runs with --slow only, in a copy that has no build yet
  <!-- needs: FEATURE -->   is skipped in a build without it
  <!-- before: COMMAND -->  makes what the reader has and we do not, say a log
  <!-- file: PATH -->       not a command: what this file says, which is written first
"""
import fnmatch
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

PAGES = ["README.md", "ARCHITECTURE.md", "HACKING.md", "docs/*.md"]
BLOCK = re.compile(r"(?:^<!-- ([a-z ]+): ([^>]*) -->\n)?^```(\w*)\n(.*?)^```$(?:\n+^```text\n(.*?)^```$)?",
                   re.MULTILINE | re.DOTALL)
# A path has a folder of the tree before its first slash, or is a file by its ending.
PATH = re.compile(r"^[\w.*-]+(/[\w.*-]+)*/?$")
ENDINGS = (".c", ".h", ".md", ".def", ".py", ".sh", ".svg", ".build", ".locus", ".supp")

# Tests run in the build as it is, and leave the log of the run that this is a part of alone.
MESON = """#!/bin/sh
[ "$1" = test ] || exec {meson} "$@"
shift
exec {meson} test --no-rebuild --logbase docs "$@"
"""

count = failed = 0


def tap(ok, name, said="", skip=None):
    global count, failed
    count += 1
    failed += not ok
    name = name.replace("#", "")
    print(f"{'ok' if ok else 'not ok'} {count} - {name}" + (f" # SKIP {skip}" if skip else ""))
    if not ok:
        print("".join(f"# {line}\n" for line in said.splitlines()[-40:]), end="")
    sys.stdout.flush()


class Block:
    def __init__(self, page, text, match):
        line = text.count("\n", 0, match.start(3)) + 1
        self.mark, self.what, self.language, self.body, self.prints = match.groups()
        self.at = match.span(5)
        first = self.body.strip().splitlines()[0] if self.body.strip() else ""
        self.name = f"{page}:{line}: {first}"


def blocks(page, text):
    return [Block(page, text, match) for match in BLOCK.finditer(text)]


def copy_tree(source, folder):
    """The tree without what builds and version control put into it."""
    def ignore(where, names):
        return [name for name in names if where == source and
                (name == ".git" or os.path.exists(os.path.join(where, name, "meson-info")))]
    shutil.copytree(source, folder, symlinks=True, ignore=ignore)


def run_page(listed, folder, path, slow, features, compare):
    """All blocks of a page in one shell; each leaves its output in a file of its own. What the
    blocks printed, by their numbers."""
    scratch = folder + ".out"
    os.mkdir(scratch)
    # What a page leaves running ends with it.
    script = ["set -eu -o pipefail", "trap 'kill $(jobs -p) 2>/dev/null || :' EXIT"]
    run, skipped, printed = [], {}, {}
    for number, block in enumerate(listed):
        if block.mark == "file":
            with open(os.path.join(folder, block.what), "w", encoding="utf-8") as file:
                file.write(block.body)
        if block.language != "sh" or block.mark in ("file", "not run"):
            continue
        if block.mark == "slow" and not slow or block.mark == "needs" and block.what not in features:
            skipped[number] = block.what if block.mark == "needs" else "slow: " + block.what
            continue
        if block.mark == "before":
            script.append(f"exec >/dev/null 2>&1\n{block.what}")
        script.append(f"exec >{scratch}/{number}.out 2>{scratch}/{number}.err\n{block.body}\n"
                      f"exec >/dev/null; : >{scratch}/{number}.done")
        run.append(number)
    environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}", LC_ALL="C.UTF-8",
                       COLUMNS="80", TMPDIR=scratch)
    shell = subprocess.run(["bash", "-c", "\n".join(script)], cwd=folder, env=environment,
                           stdin=subprocess.DEVNULL, check=False)
    for number, block in enumerate(listed):
        if number in skipped:
            tap(True, block.name, skip=skipped[number])
        if number not in run:
            continue

        def said(ending):
            name = f"{scratch}/{number}.{ending}"
            return open(name, encoding="utf-8", errors="replace").read() if os.path.exists(name) else None

        if said("done") is None:
            out = said("out")
            tap(False, block.name, (out + said("err") + f"exit status {shell.returncode}")
                if out is not None else "not reached: the block before it failed")
        elif compare and block.prints is not None and block.prints != said("out"):
            tap(False, block.name, f"expected:\n{block.prints}\nprinted:\n{said('out')}")
        else:
            tap(True, block.name)
        printed[number] = said("out")
    return printed


def update(page, text, listed, printed):
    """Puts what was printed into the page."""
    for number, block in reversed(list(enumerate(listed))):
        if block.prints is not None and printed.get(number) is not None:
            begin, end = block.at
            text = text[:begin] + printed[number] + text[end:]
    with open(page, "w", encoding="utf-8") as file:
        file.write(text)


def tree_files(source):
    found = []
    for where, folders, names in os.walk(source):
        folders[:] = [f for f in folders if f != ".git" and
                      not os.path.exists(os.path.join(where, f, "meson-info"))]
        found += [os.path.relpath(os.path.join(where, n), source) for n in names + folders]
    return found


def missing_paths(page, text, listed, source, files):
    """Paths in backticks, and links."""
    prose = BLOCK.sub("", text)
    made = {b.what for b in listed if b.mark == "file"}
    top = {f.split("/")[0] for f in files}
    missing = []
    for span in re.findall(r"`([^`\n]+)`", prose):
        span = span.rstrip("/")
        if not PATH.match(span) or span in made or "NAME" in span:
            continue
        if "/" in span and span.split("/")[0] in top:
            if not any(fnmatch.fnmatch(f, span) for f in files):
                missing.append(span)
        elif "/" not in span and span.endswith(ENDINGS):
            if not any(fnmatch.fnmatch(os.path.basename(f), span) for f in files):
                missing.append(span)
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", prose):
        if "://" not in link and not os.path.exists(os.path.join(source, os.path.dirname(page), link)):
            missing.append(link)
    return missing


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    slow = "--slow" in options
    source, build, *features = [a for a in sys.argv[1:] if not a.startswith("--")]
    source, build = os.path.realpath(source), os.path.realpath(build)
    files = tree_files(source)
    with tempfile.TemporaryDirectory() as work:
        path = f"{work}/bin"
        os.mkdir(path)
        if not slow:
            with open(f"{path}/meson", "w", encoding="utf-8") as shim:
                shim.write(MESON.format(meson=shutil.which("meson")))
            os.chmod(f"{path}/meson", 0o755)
        pages = [p for pattern in PAGES for p in sorted(glob.glob(pattern, root_dir=source))]
        for page in pages:
            with open(os.path.join(source, page), encoding="utf-8") as file:
                text = file.read()
            listed = blocks(page, text)
            if not slow:
                missing = missing_paths(page, text, listed, source, files)
                tap(not missing, f"{page}: every path and link leads somewhere", "\n".join(missing))
            elif not any(b.mark == "slow" for b in listed):
                continue
            if not any(b.language == "sh" and b.mark != "not run" for b in listed):
                continue
            folder = f"{work}/{page.replace('/', '-')}"
            copy_tree(source, folder)
            if not slow:
                os.symlink(build, f"{folder}/build")
            if os.path.lexists(f"{path}/locus"):
                os.remove(f"{path}/locus")
            os.symlink(f"{folder}/build/sim/locus", f"{path}/locus")
            printed = run_page(listed, folder, path, slow, features,
                               compare="--update" not in options)
            if "--update" in options:
                update(os.path.join(source, page), text, listed, printed)
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
