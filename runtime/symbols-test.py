#!/usr/bin/env python3
"""What libtessera.so shows and needs.

symbols-test.py LIBRARY HEADER

It shows the functions of runtime/tessera.h and nothing else, however much of SQLite it holds, and
needs nothing that a training container may lack. Prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys
from pathlib import Path

# ld-linux comes in where a library has thread-local variables.
ALLOWED = re.compile(r"lib(c|m|pthread|dl)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+")


def lines(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main():
    library, header = sys.argv[1:]
    declared = set(re.findall(r"\b(tessera_\w+) \(", Path(header).read_text(encoding="utf-8")))
    declared = {name for name in declared if re.search(rf"TESSERA_API[^;]*\b{name} \(",
                                                       Path(header).read_text(encoding="utf-8"))}
    shown = {line.split()[-1] for line in lines("nm", "-D", "--defined-only", library)}
    dynamic = lines("readelf", "-d", library)
    needed = {match[1] for match in (re.search(r"\(NEEDED\).*\[(.*)\]", line) for line in dynamic) if match}
    results = {
        "every function of the header is shown": declared - shown,
        "nothing else is shown": shown - declared,
        "only the system's own libraries are needed": {n for n in needed if not ALLOWED.fullmatch(n)},
        "it is never unloaded": set() if any("NODELETE" in line for line in dynamic) else {"no NODELETE"},
    }
    print(f"1..{len(results)}")
    for number, (title, findings) in enumerate(results.items(), 1):
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in sorted(findings):
            print(f"# {finding}")
    return any(results.values())


sys.exit(main())
