#!/usr/bin/env python3
"""Includes and symbols go only the allowed way between folders.

layers.py SOURCE_ROOT BUILD_ROOT

Checks, folder by folder: which folders its files include from; which system headers it may use;
which tessera_* symbols its static library takes from others; and that guest code (what loads
into a training process) calls nothing that aborts, exits or prints. Prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys
from pathlib import Path

# Who may know whom. Everything may include itself and db.
ALLOWED = {
    "db": set(),
    "allocator": {"db"},
    "recorder": {"db"},
    "recorder/import": {"db", "allocator"},
    "planner": {"db", "allocator"},
    "edits": {"db", "planner"},
    "simulator": {"db", "allocator", "planner"},
    "runtime": {"db", "allocator", "recorder", "planner"},
    "picture": {"db", "planner", "simulator"},
    "cli": {"db", "recorder/import", "planner", "edits", "simulator", "picture", "nullcuda"},
    "nullcuda": set(),
    "viewer": {"db", "recorder/import", "planner", "edits", "simulator", "picture", "cli"},
}
# Small files that a folder compiles in, rather than link the library that they are of.
COMPILED_IN = {"nullcuda": {"db/size-text.h"}}
GUEST = ("db", "allocator", "recorder", "planner", "simulator", "runtime")
NOT_FOR_GUESTS = re.compile(r"<(glib|gio|gtk|cairo|json-glib|zlib)")
FORBIDDEN_CALLS = {"abort", "exit", "_exit", "printf", "puts", "fprintf", "perror", "__assert_fail",
                   "__printf_chk", "__fprintf_chk", "vprintf", "putchar"}
LIBRARIES = {
    "db": "db/libtessera-db.a",
    "allocator": "allocator/libtessera-allocator.a",
    "recorder": "recorder/libtessera-recorder.a",
    "recorder/import": "recorder/import/libtessera-import.a",
    "planner": "planner/libtessera-planner.a",
    "edits": "edits/libtessera-edits.a",
    "simulator": "simulator/libtessera-simulator.a",
    "runtime": "runtime/libtessera-runtime.a",
    "nullcuda": "nullcuda/libnullcuda-parts.a",
    "picture": "picture/libtessera-picture.a",
    "cli": "cli/libtessera-cli.a",
    "viewer": "viewer/libtessera-viewer.a",
}


def sources(root, build, folder):
    """What the folder's library is made of, and its headers that those files include."""
    library = build / LIBRARIES[folder]
    if not library.exists():
        return
    members = subprocess.run(["ar", "t", str(library)], capture_output=True, text=True, check=True).stdout.split()
    home = Path(LIBRARIES[folder]).parent
    # Meson names the object of sub/name.c sub_name.c.o; no source has a "_" of its own.
    wanted = [root / home / name.removesuffix(".o").replace("_", "/") for name in members]
    seen = set()
    while wanted:
        path = wanted.pop()
        if path in seen or not path.exists():  # generated sources are not ours to read
            continue
        seen.add(path)
        yield path
        text = path.read_text(encoding="utf-8")
        wanted += [root / name for name in re.findall(rf'^#include "({folder}/[^"]*)"', text, re.M)]


def check_includes(root, build):
    for folder, allowed in ALLOWED.items():
        for path in sources(root, build, folder):
            text = path.read_text(encoding="utf-8")
            for header, name in re.findall(r'^#include "((recorder/import|[^"/]+)/[^"]*)"', text, re.M):
                if name != folder and name not in allowed and header not in COMPILED_IN.get(folder, ()):
                    yield f"{path.relative_to(root)} includes from {name}/, which {folder}/ may not know"
            if folder in GUEST:
                for name in NOT_FOR_GUESTS.findall(text):
                    yield f"{path.relative_to(root)} includes <{name}...>: guest code knows libc only"


def symbols(build, library, option):
    listing = subprocess.run(["nm", option, str(build / library)], capture_output=True, text=True)
    if listing.returncode != 0:
        return None
    return {line.split()[-1] for line in listing.stdout.splitlines() if len(line.split()) >= 2}


def check_links(build):
    defined, wanted = {}, {}
    for folder, library in LIBRARIES.items():
        if not (build / library).exists():
            continue
        defined[folder] = symbols(build, library, "--defined-only")
        wanted[folder] = symbols(build, library, "--undefined-only") - defined[folder]
    for folder, names in wanted.items():
        for name in sorted(names):
            owners = [other for other in defined if name in defined[other]]
            if owners and not any(owner in ALLOWED[folder] for owner in owners):
                yield f"{LIBRARIES[folder]} takes {name} from {owners[0]}/"
        if folder in GUEST:
            for name in sorted(names & FORBIDDEN_CALLS):
                yield f"{LIBRARIES[folder]} calls {name}: guest code never aborts, exits or prints"
    missing = [folder for folder in LIBRARIES if folder not in defined and folder != "viewer"]
    for folder in missing:
        yield f"{LIBRARIES[folder]} was not built, so its symbols were not checked"


def main():
    root, build = Path(sys.argv[1]), Path(sys.argv[2])
    print("1..2")
    failed = 0
    for number, (title, findings) in enumerate(
            (("includes go the allowed way", list(check_includes(root, build))),
             ("symbols go the allowed way", list(check_links(build)))), 1):
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in findings:
            print(f"# {finding}")
        failed += bool(findings)
    return 1 if failed else 0


sys.exit(main())
