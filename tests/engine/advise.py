#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The promise of locus advise: the replay that it prints gives its figures. advise.py LOCUS"""
import json
import os
import subprocess
import sys

CASES = [
    ["--servers", "4", "small.squid"],
    ["--servers", "3", "--cache", "64KiB", "--evict", "sieve", "small.squid"],
    ["--pool", "pool.rules", "small.squid"],
    ["--pool", "pool.rules", "--max-imbalance", "1.5", "--rules", "kernel-classic",
     "--from", "5s", "--to", "40s", "small.squid"],
    ["--servers", "10.0.0.1*8,10.0.0.2*2", "--proto", "all", "--duration",
     "lognormal:500ms:1.2", "--seed", "7", "--speed", "2.5", "mixed.zeek"],
    ["--servers", "2", "--policy", "twos,leastalloc,mh:fallback", "mixed.zeek"],
]


def run(locus, command):
    words = command if isinstance(command, list) else ["sh", "-c", command]
    environment = dict(os.environ, PATH=os.path.dirname(locus) + ":" + os.environ["PATH"])
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, env=environment,
                          timeout=120).stdout.decode()


def main():
    locus = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cli", "data"))
    print(f"1..{len(CASES)}")
    failed = False
    for number, arguments in enumerate(CASES, 1):
        choice = json.loads(run(locus, [locus, "advise", "--json"] + arguments))["choice"]
        text = run(locus, [locus, "advise"] + arguments)
        check = next(line for line in text.split("\n") if line.startswith("check:"))
        command = check.removeprefix("check:").strip()
        again = json.loads(run(locus, command + " --json"))["policies"][0]
        wrong = {name: (value, again[name]) for name, value in choice.items()
                 if name in again and name != "servers" and again[name] != value}
        ok = not wrong and len(set(choice) & set(again)) > 15
        failed = failed or not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {' '.join(arguments)}")
        if not ok:
            print(f"# {command}\n# {wrong}")
    sys.exit(failed)


main()
