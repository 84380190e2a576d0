#!/usr/bin/env python3
"""Includes and symbols go only the allowed way between folders.

layers.py SOURCE_ROOT BUILD_ROOT

Checks, folder by folder: which folders its files include from; which system headers it may use;
which tessera_* symbols its static library takes from others; that guest code (what loads
into a training process) calls nothing that aborts, exits or prints; that no folder's product code
grows; and that C files are as clang-format 14 has them, where that is installed. Prints TAP.

SPDX-License-Identifier: Apache-2.0
"""
import re
import subprocess
import sys
from pathlib import Path
from shutil import which

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
    "answers": {"db", "planner", "simulator"},
    "picture": {"db", "planner", "simulator", "answers"},
    "cli": {"db", "recorder/import", "planner", "edits", "simulator", "answers", "picture", "nullcuda"},
    "nullcuda": set(),
    "viewer": {"db", "recorder/import", "planner", "edits", "simulator", "answers", "picture", "cli"},
}
# Small files that a folder compiles in, rather than link the library that they are of.
COMPILED_IN = {"nullcuda": {"db/size-text.h"}}
GUEST = ("db", "allocator", "recorder", "planner/check", "runtime")
NOT_FOR_GUESTS = re.compile(r"<(glib|gio|gtk|cairo|json-glib|zlib)")
FORBIDDEN_CALLS = {"abort", "exit", "_exit", "printf", "puts", "fprintf", "perror", "__assert_fail",
                   "__printf_chk", "__fprintf_chk", "vprintf", "putchar"}
# Product lines (.c and .h but tests, benches, generators, fakes): today's. They go down with each cut, to the
# 80,000 that one engineer can own; a folder that needs more says in its commit what left.
MOST_LINES = {"planner": 26_302, "viewer": 16_070, "allocator": 11_941, "recorder": 7_819, "cli": 12_130, "db": 6_752,
              "simulator": 4_700, "answers": 3_583, "picture": 4_815, "nullcuda": 4_392, "runtime": 4_035, "edits": 2_205}
# Of tests in C: 45,000 lines, and 12,000 with what has come since.
MOST_TEST_LINES = 57_000
NOT_PRODUCT = re.compile(r"(^|/)(tests?|bench|fuzz|fake|generate)/|(-test|-bench|-benchmark|-fuzz)\.[ch]$|/(test|made)-[^/]*$|"
                         r"(^|/)(naive|oracle)\.[ch]$")
# Words of an older vocabulary, as parts of identifiers and file names: so often still. They go down to none.
MOST_WORDS = {"rota": 0, "spell": 0, "wish": 0, "spot": 0, "astray": 0, "dear": 0, "glance": 0, "shelf": 0, "desk": 0, "told": 0,
              "placeless": 0, "lay_down": 0, "lay_open": 0, "let_go": 0}
FORMATTER = "version 14."  # others differ in details
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
    "answers": "answers/libtessera-answers.a",
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
            if any(path.is_relative_to(root / guest) for guest in GUEST):
                for name in NOT_FOR_GUESTS.findall(text):
                    yield f"{path.relative_to(root)} includes <{name}...>: guest code knows libc only"


def symbols(build, library, option):
    listing = subprocess.run(["nm", option, str(build / library)], capture_output=True, text=True)
    if listing.returncode != 0:
        return None
    return {line.split()[-1] for line in listing.stdout.splitlines() if len(line.split()) >= 2}


def calls_of(build, folder, part):
    """What the objects of a folder, or of a folder in it, take from elsewhere."""
    listing = subprocess.run(["nm", "-A", "--undefined-only", str(build / LIBRARIES[folder])], capture_output=True, text=True)
    lines = [line.split(":", 2) for line in listing.stdout.splitlines()]
    return {words[-1].split()[-1] for words in lines if len(words) == 3 and words[1].rpartition("/")[2].startswith(f"{part}_" if part else "")}


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
    for guest in GUEST:
        for name in sorted(calls_of(build, *guest.partition("/")[::2]) & FORBIDDEN_CALLS):
            yield f"{guest}/ calls {name}: guest code never aborts, exits or prints"
    missing = [folder for folder in LIBRARIES if folder not in defined and folder != "viewer"]
    for folder in missing:
        yield f"{LIBRARIES[folder]} was not built, so its symbols were not checked"


def check_lines(root):
    n_tests = 0
    for folder in (*MOST_LINES, "tests"):
        n_product, most = 0, MOST_LINES.get(folder, 0)
        for path in (root / folder).rglob("*.[ch]"):
            n_lines = path.read_text(encoding="utf-8").count("\n")
            if NOT_PRODUCT.search(str(path.relative_to(root))):
                n_tests += n_lines
            else:
                n_product += n_lines
        if n_product > most:
            yield f"{folder}/ has {n_product:,} product lines, {most:,} at most"
    if n_tests > MOST_TEST_LINES:
        yield f"tests in C have {n_tests:,} lines, {MOST_TEST_LINES:,} at most"


def check_words(root):
    """Identifiers and file names of the product, split at underscores and capitals; plurals count."""
    counts = dict.fromkeys(MOST_WORDS, 0)
    for folder in MOST_LINES:
        for path in (root / folder).rglob("*.[ch]"):
            if NOT_PRODUCT.search(str(path.relative_to(root))):
                continue
            text = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
            for name in [path.stem, *re.findall(r"[A-Za-z_]\w*", text)]:
                words = "_" + "_".join(word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name)) + "_"
                for word in counts:
                    counts[word] += bool(re.search(f"_{word}(s|es)?_", words))
    for word, n in counts.items():
        if n > MOST_WORDS[word]:
            yield f"{word} comes {n} times in names, {MOST_WORDS[word]} at most: docs/GLOSSARY.md has the words"


def check_guide(root):
    """Files that the guide names are there."""
    for name in sorted(set(re.findall(r"`([a-z][\w/-]*/[\w.-]+\.(?:c|h|py))`", (root / "docs/MAINTAINING.md").read_text(encoding="utf-8")))):
        if not (root / name).exists():
            yield f"docs/MAINTAINING.md names {name}, which is not there"


def check_format(root):
    known = subprocess.run(["clang-format", "--version"], capture_output=True, text=True) if which("clang-format") else None
    if known is None or FORMATTER not in known.stdout:
        print(f"# clang-format {FORMATTER} is not there: formats are not looked at")
        return
    names = [str(path) for folder in (*MOST_LINES, "tests") for path in sorted((root / folder).rglob("*.[ch]"))]
    done = subprocess.run(["clang-format", "--dry-run", *names], capture_output=True, text=True)
    for name in sorted(set(re.findall(r"^(\S+?):\d+:\d+: warning", done.stderr, re.M))):
        yield f"{Path(name).relative_to(root)} is not as clang-format -i has it"


def main():
    root, build = Path(sys.argv[1]), Path(sys.argv[2])
    print("1..6")
    failed = 0
    for number, (title, findings) in enumerate(
            (("includes go the allowed way", list(check_includes(root, build))),
             ("symbols go the allowed way", list(check_links(build))),
             ("no folder grows", list(check_lines(root))),
             ("no old word comes back", list(check_words(root))),
             ("the guide names files that are there", list(check_guide(root))),
             ("files are formatted", list(check_format(root)))), 1):
        print(f"{'not ok' if findings else 'ok'} {number} - {title}")
        for finding in findings:
            print(f"# {finding}")
        failed += bool(findings)
    return 1 if failed else 0


sys.exit(main())
