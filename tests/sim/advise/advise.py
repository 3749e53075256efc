#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The promise of locus advise: the replay that it prints gives its figures, and the lines to
apply make the servers that it chose. advise.py LOCUS"""
import json
import os
import subprocess
import sys
import tempfile

CASES = [
    ["--servers", "4", "small.squid"],
    ["--servers", "3", "--cache", "64KiB", "--evict", "sieve", "small.squid"],
    ["--pool", "pool.rules", "small.squid"],
    ["--pool", "pool.rules", "--max-imbalance", "1.5", "--rules", "kernel-classic",
     "--from", "5s", "--to", "40s", "small.squid"],
    ["--servers", "10.0.0.1*8,10.0.0.2*2", "--proto", "all", "--duration",
     "lognormal:500ms:1.2", "--seed", "7", "--speed", "2.5", "mixed.zeek"],
    ["--servers", "2", "--policy", "twos,leastalloc,mh:fallback", "mixed.zeek"],
    ["--servers", "4", "--policy", "chbl,chbl:1.5,p2c", "small.squid"],
    ["--servers", "4", "--policy", "wlc,lblc,chbl,chbl:1.5,p2c", "small.squid"],
    # Bounds are a must here: what the map cannot hold, and thresholds.
    ["--servers", "10.0.0.1*9/8/6,10.0.0.2*2/4", "--policy", "lblc,lblcr", "small.squid"],
    ["--pool", "keepalived.conf", "--policy", "lblc,mh:fallback:port", "small.squid"],
]


def lines_below(text, head):
    block = text.split("\n" + head + "\n", 1)[1].split("\n\n", 1)[0]
    return [line for line in block.split("\n") if "sysctl" not in line]


def applied(locus, arguments, text, work):
    """The servers that the lines to apply come to, where they are a pool of their own."""
    lines = lines_below(text, "apply:")
    if "virtual_server" not in lines[0] and " -A " not in lines[0]:
        # Edits: behind what they edit.
        with open(arguments[arguments.index("--pool") + 1], encoding="ascii") as file:
            lines = file.read().split("\n") + lines
    pool = os.path.join(work, "applied")
    with open(pool, "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")
    again = json.loads(run(locus, [locus, "replay", "--policy", "wlc", "--pool", pool,
                                   "--json", "small.squid"]))
    return {s["address"].removesuffix(":80"):
            (s["weight"], s["upper_threshold"], s["lower_threshold"])
            for s in again["settings"]["servers"]}


def run(locus, command):
    words = command if isinstance(command, list) else ["sh", "-c", command]
    environment = dict(os.environ, PATH=os.path.dirname(locus) + ":" + os.environ["PATH"])
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, env=environment,
                          timeout=120).stdout.decode()


def main():
    locus = os.path.abspath(sys.argv[1])
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "commands", "replay", "data"))
    print(f"1..{len(CASES)}")
    failed = False
    for number, arguments in enumerate(CASES, 1):
        answer = run(locus, [locus, "advise", "--json"] + arguments)
        choice = json.loads(answer)["choice"]
        text = run(locus, [locus, "advise"] + arguments)
        check = next(line for line in text.split("\n") if line.startswith("check:"))
        command = check.removeprefix("check:").strip()
        again = json.loads(run(locus, command + " --json"))["policies"][0]
        wrong = {name: (value, again[name]) for name, value in choice.items()
                 if name in again and name != "servers" and again[name] != value}
        if run(locus, [locus, "advise", "--json"] + arguments) != answer:
            wrong["again"] = "another answer"
        ok = not wrong and len(set(choice) & set(again)) > 15
        if ok and "\napply:\n" in text:
            with tempfile.TemporaryDirectory() as work:
                pool = applied(locus, arguments, text, work)
            wanted = {s["address"].removesuffix(":80"):
                      (s["weight"], s["upper_threshold"], s["lower_threshold"])
                      for s in choice["servers"]}
            wrong = {} if pool == wanted else {"apply": (wanted, pool)}
            ok = not wrong
        failed = failed or not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {' '.join(arguments)}")
        if not ok:
            print(f"# {command}\n# {wrong}")
    sys.exit(failed)


main()
