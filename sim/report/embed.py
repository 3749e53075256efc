# SPDX-License-Identifier: MIT
"""Turns files into C arrays: embed.py OUT NAME FILE [NAME FILE]..."""
import sys

with open(sys.argv[1], "w") as out:
    out.write("/* Made from files by embed.py. */\n#include \"report/embedded.h\"\n")
    for name, path in zip(sys.argv[2::2], sys.argv[3::2]):
        with open(path, "rb") as file:
            data = file.read()
        out.write(f"const unsigned char {name}[] = {{")
        for i, byte in enumerate(data):
            out.write(("\n" if i % 24 == 0 else "") + f"{byte},")
        out.write(f"\n0}};\nconst size_t {name}_size = {len(data)};\n")
