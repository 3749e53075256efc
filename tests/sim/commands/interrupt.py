# SPDX-License-Identifier: MIT
"""interrupt.py LOCUS: Ctrl-C while a log still comes in. What was read is replayed and shown,
and the exit code says that it is not all. TAP on stdout."""
import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import termios

LINES = 3000


def line(i):
    return (f"{1700000000 + i}.{i % 1000:03d} 5 10.0.0.{i % 250} TCP_MISS/200 100 GET "
            f"http://h{i % 7}.example/ - DIRECT/192.0.2.{i % 250} -\n").encode()


def waits_for_input(process, pipe):
    """True when everything written was read and the process sleeps, which it does in
    read() alone: it has no threads yet."""
    unread = struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0" * 4))[0]
    with open(f"/proc/{process.pid}/stat", "rb") as stat:
        state = stat.read().rsplit(b")", 1)[1].split()[0]
    return unread == 0 and state == b"S"


def interrupted_run(locus, options, lines=[line(i) for i in range(LINES)],
                    last=line(LINES) + line(LINES + 1),
                    command=("replay", "--servers", "2", "--policy", "wlc,lblc")):
    process = subprocess.Popen(
        [locus, *command, "--format", "squid", *options, "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    pipe = process.stdin.fileno()
    for text in lines:
        os.write(pipe, text)
    while not waits_for_input(process, pipe):
        os.sched_yield()
    process.send_signal(signal.SIGINT)
    # The line that it waits for is the last that it takes.
    os.write(pipe, last)
    out, err = process.communicate()
    return process.returncode, out.decode(), err.decode()


def main():
    locus = sys.argv[1]
    results = []

    code, out, err = interrupted_run(locus, ["--json"])
    results.append(("the exit code is 1", code == 1, f"{code}: {err}"))
    said = f"interrupted: the first {LINES + 1} connections" in err
    results.append(("stderr says how far it came", said, err))
    try:
        report = json.loads(out)
    except ValueError:
        report = {}
    results.append(("the report says so too", report.get("trace", {}).get("interrupted") is True, out[:200]))
    counts = [p["connections"] for p in report.get("policies", [])]
    results.append(("all that was read is replayed", counts == [LINES + 1] * 2, str(counts)))

    code, out, err = interrupted_run(locus, [])
    results.append(("the table says it in words", code == 1 and "INTERRUPTED" in out, out))

    code, out, err = interrupted_run(locus, [], [b"\n"], b"\n\n")
    results.append(("before the first record too", code == 1 and "interrupted" in err, f"{code}: {err}"))

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as scenario:
        scenario.write("9h fail 10.0.0.1:80\n")
        scenario.flush()
        code, out, err = interrupted_run(locus, ["--scenario", scenario.name])
    results.append(("nothing is said about where the trace ends", code == 1 and "ends before" not in err, err))

    for command in "lint", "advise":
        code, out, err = interrupted_run(locus, [], command=[command, "--servers", "2"])
        results.append((f"{command} concludes nothing from a part",
                        code == 1 and out == "" and "interrupted" in err, f"{code}: {out}{err}"))

    code, out, err = interrupted_run(locus, [], command=["inspect"])
    said = f"interrupted: the first {LINES + 1} records" in err
    results.append(("inspect shows what was read, and says so", code == 1 and out != "" and said, f"{code}: {err}"))

    for number, (what, ok, why) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {number} - {what}")
        if not ok:
            print("# " + why.replace("\n", "\n# "))
    print(f"1..{len(results)}")
    return 0 if all(ok for _, ok, _ in results) else 1


sys.exit(main())
