#!/usr/bin/env python3
"""Changes code by one fault at a time and looks whether a test fails.

mutants.py SOURCE_ROOT [--folder FOLDER]... [--count N] [--keep FOLDER]

The tree's tracked files are copied and built. In each of the folders N faults (30) are made, one after the other: a comparison
turned, a number one larger, a condition or a statement left out. Which lines get one depends on
their text alone, so most stay the same while the code around them changes. How much memory is asked for is left alone: sanitizers
see that. A fault that builds and passes the tests that watch its folder survives; mutants.txt beside this file has those that
change nothing a caller could see, each with its reason. Any other survivor fails the test.
Prints TAP. `--keep` uses FOLDER for the copy, and leaves it there.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NO_BUILD = 125  # what `meson test` ends with
HERE = Path(__file__).resolve().parent
NO_PRODUCT = re.compile(r"(test|bench|made-options|naive)")
# FOLDER: what is run first, since it fails soonest, then the rest of what watches it.
WATCHERS = {
    "planner/check": (
        ["planner-check", "planner-check-kinds", "planner-check-lengths",
         "planner-check-unplanned", "fuzz-corpus-check", "planner-plan-rotations",
         "planner-compare", "planner-lengths-places", "planner-kept", "planner-dynamic", "edits-plan"],
        ["planner-lengths", "by-length", "kinds", "plan", "golden", "fuzz-corpus-follow"]),
    "allocator/caching": (
        ["caching", "reuse", "tree", "simulate", "verify", "peak"],
        ["real", "policy", "policy-pool", "policy-plan", "explain", "small-programs",
         "runtime-runtime", "runtime-pools", "runtime-streams", "runtime-refused", "verdict", "figures", "golden", "witness"]),
    "recorder/import": (
        ["snapshot", "start", "open", "csv", "pickle", "fuzz-corpus-import", "fuzz-corpus-csv", "fuzz-corpus-pickle"],
        ["verify", "real", "figures", "golden", "round-trip", "cli"]),
}
FAULTS = [
    (r" < ", " <= "), (r" <= ", " < "), (r" > ", " >= "), (r" >= ", " > "), (r" == ", " != "), (r" != ", " == "),
    (r" && ", " || "), (r" \|\| ", " && "), (r" \+ ", " - "), (r" - ", " + "), (r"\+\+", "--"),
    (r" \+= ", " -= "), (r" (\d+)([;,)\]])", None), (r"\btrue\b", "false"), (r"\bfalse\b", "true"),
]


def number_above(match):
    return f" {int(match[1]) + 1}{match[2]}"


def faults_of(path, text):
    """(line, what it becomes) for all single faults of a file's functions."""
    inside = False
    for number, line in enumerate(text.split("\n")):
        if line.startswith("{"):
            inside = True
        elif line.startswith("}"):
            inside = False
        code = line.split("/*")[0]
        if not inside or not code.startswith("  ") or re.search(r'"|^\s*(\*|#)|\? -1 : 1|alloc|RESERVE', code):
            continue
        for pattern, new in FAULTS:
            for match in re.finditer(pattern, code):
                put = number_above(match) if new is None else new
                yield number, line[: match.start()] + put + line[match.end():]
        if re.match(r"\s+if \(", code):
            yield number, re.sub(r"if \(", "if (!(", line, count=1) + ")" if code.rstrip().endswith(")") else line
        if re.match(r"\s+[a-z_][\w>.\[\]-]* (\+|-|\||&)?= [^;{]*;$", code) or re.match(r"\s+[a-z_]\w* \([^;]*\);$", code):
            yield number, re.match(r"\s*", line)[0] + ";"


def candidates(root, folder):
    """All faults of a folder, in an order that is drawn by the text of the lines."""
    found = []
    for path in sorted((root / folder).rglob("*.c")):
        if NO_PRODUCT.search(path.name):
            continue
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        name = str(path.relative_to(root))
        for number, new in faults_of(path, text):
            if new != lines[number]:
                key = f"{name}: {lines[number].strip()} -> {new.strip()}"
                found.append((hashlib.sha256(key.encode()).hexdigest(), key, name, number, new))
    return sorted(found)


def explained():
    """The survivors that are known: KEY of the fault, its reason on the next line."""
    known = {}
    key = None
    for line in (HERE / "mutants.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("    ") and key:
            known[key] = line.strip()
        elif line and not line.startswith("#"):
            key = line
    return known


class Copy:
    def __init__(self, source, root):
        self.root = root
        self.build_root = root / "build"
        self.environment = dict(
            os.environ, TESSERA_SHARED_DATA=str(source.parent / "shared" / "data"))
        names = subprocess.run(["git", "-C", source, "ls-files", "-z"], check=True, capture_output=True).stdout
        for name in names.decode().split("\0"):
            target = root / name
            if name and (not target.exists() or target.read_bytes() != (source / name).read_bytes()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, target)
                os.utime(target)
        if not (self.build_root / "build.ninja").exists():
            self.called("meson", "setup", self.build_root, root, "-Dbuildtype=debugoptimized", "-Dviewer=disabled",
                        check=True)
    def called(self, *command, check=False, timeout=None):
        return subprocess.run(list(map(str, command)), env=self.environment, check=check, timeout=timeout,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def status_of(self, tests):
        """0: all of them pass; NO_BUILD: the code does not build. Only what they need is built."""
        return self.called("meson", "test", "-C", self.build_root, "--maxfail", 1,
                           "--timeout-multiplier", 3, *tests).returncode

    def judge(self, folder, name, number, new):
        """'no code', 'killed' or 'survives'."""
        path = self.root / name
        before = path.read_text(encoding="utf-8")
        lines = before.split("\n")
        lines[number] = new
        try:
            path.write_text("\n".join(lines), encoding="utf-8")
            for tests in WATCHERS[folder]:
                status = self.status_of(tests)
                if status:
                    return "no code" if status == NO_BUILD else "killed"
            return "survives"
        finally:
            path.write_text(before, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("--folder", action="append", choices=WATCHERS)
    parser.add_argument("--count", type=int, default=30)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    folders = options.folder or list(WATCHERS)
    known = explained()
    print(f"1..{len(folders)}", flush=True)
    n_failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Copy(options.source.resolve(), (options.keep or Path(scratch)).resolve())
        for nth, folder in enumerate(folders, 1):
            for tests in WATCHERS[folder]:
                assert copy.status_of(tests) == 0, f"{folder}: its tests fail without a fault"
            verdicts = []
            for _, key, name, number, new in candidates(copy.root, folder):
                if len(verdicts) == options.count:
                    break
                verdict = copy.judge(folder, name, number, new)
                if verdict == "survives" and key in known:
                    verdict = "explained"
                if verdict != "no code":
                    verdicts.append(verdict)
                    print(f"# {verdict}: {key} (line {number + 1})", flush=True)
            n_survive = verdicts.count("survives")
            n_failed += n_survive > 0
            print(f"# {folder}: {len(verdicts)} faults, {verdicts.count('killed')} seen by a test, "
                  f"{verdicts.count('explained')} explained, {n_survive} survive")
            print(f"{'not ok' if n_survive else 'ok'} {nth} - {folder}", flush=True)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
