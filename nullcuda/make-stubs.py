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


def definition(name, policy):
    for verdict, pattern, *error in policy:
        if fnmatchcase(name, pattern):
            return {"pass": "", "quiet": f"NULL_QUIET ({name})", "fail": f"NULL_FAILS ({name}, {''.join(error)})"}[verdict]
    sys.exit(f"make-stubs.py: no line of the policy fits {name}")


def main():
    symbols, policy, output = sys.argv[1:]
    policy = list(lines(policy))
    stubs = [definition(name, policy) for name, in lines(symbols)]
    Path(output).write_text("\n".join(['#include "nullcuda/private.h"', "", *filter(None, stubs), ""]), encoding="utf-8")


main()
