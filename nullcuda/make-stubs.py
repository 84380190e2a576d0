#!/usr/bin/env python3
"""Writes a C file that defines what nobody wrote by hand.

make-stubs.py SYMBOLS POLICY OUTPUT

Every function of SYMBOLS gets the weak definition that POLICY chooses; one by hand goes first.
"""
# SPDX-License-Identifier: Apache-2.0
import sys
from fnmatch import fnmatchcase
from pathlib import Path



def lines(path):
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            yield line.split()


def work_area(name, out, *factors):
    """A function that writes a product of some of its arguments to one of them: in elements, or, of the
    newer ones, in bytes, of which the host needs none."""
    is_wide = name.startswith("cusolverDnX")
    kind = "int64_t" if is_wide else "int"
    arguments = ", ".join(f"int64_t a{i}" for i in range(1, max([int(out) + is_wide, *map(int, factors)]) + 1))
    read = "a" if is_wide else "(int64_t) (int) a"
    sizes = f"({kind} *) a{out}, {' * '.join(read + factor for factor in factors) or '(int64_t) 0'}"
    area = f"NULL_WORK_BYTES ({sizes}, (int64_t *) a{int(out) + 1})" if is_wide else f"NULL_WORK_ELEMENTS ({sizes})"
    return f"NULL_STUB ({name}, ({arguments}), {area})"


def definition(name, policy):
    for verdict, pattern, *rest in policy:
        if fnmatchcase(name, pattern):
            return {"pass": lambda: "", "quiet": lambda: f"NULL_QUIET ({name})", "opens": lambda: f"NULL_OPENS ({name})",
                    "fail": lambda: f"NULL_FAILS ({name}, {''.join(rest)})", "works": lambda: work_area(name, *rest)}[verdict]()
    sys.exit(f"make-stubs.py: no line of the policy fits {name}")


def main():
    symbols, policy, output = sys.argv[1:]
    policy = list(lines(policy))
    stubs = [definition(name, policy) for name, in lines(symbols)]
    Path(output).write_text("\n".join(['#include "nullcuda/private.h"', "", *filter(None, stubs), ""]), encoding="utf-8")


main()
