#!/usr/bin/env python3
"""Turns a text file into a C header with one string: embed.py NAME INPUT OUTPUT.

SPDX-License-Identifier: Apache-2.0
"""
import json
import sys

name, source, target = sys.argv[1:]
with open(source, encoding="utf-8") as text, open(target, "w", encoding="utf-8") as header:
    header.write(f"/* Made from {source.rsplit('/', 1)[-1]}; do not edit. */\n#pragma once\n\n")
    header.write(f"static const char {name}[] =\n")
    for line in text:
        header.write("  " + json.dumps(line) + "\n")
    header.write("  ;\n")
