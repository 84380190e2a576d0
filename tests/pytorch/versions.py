#!/usr/bin/env python3
"""The Python that the tests run with has the versions that requirements.txt pins.

SPDX-License-Identifier: Apache-2.0
"""
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def findings():
    for line in Path(__file__).with_name("requirements.txt").read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        name, wanted = line.split("==")
        try:
            found = version(name).partition("+")[0]  # "2.15.0+cu132" is a build of 2.15.0
        except PackageNotFoundError:
            found = "missing"
        if found != wanted:
            yield f"{name} is {found}, and {wanted} is pinned"


problems = list(findings())
print("\n".join(problems))
sys.exit(1 if problems else 0)
