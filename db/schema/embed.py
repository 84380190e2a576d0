#!/usr/bin/env python3
#
# Turns the .sql files of the schema into one C header: embed.py OUT.h FILE.sql ...
# trace.sql becomes the string literal TESSERA_SQL_TRACE, a line of SQL a line of C.
#
# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

target, *sources = sys.argv[1:]
lines = ['/* Made by db/schema/embed.py from the .sql files beside it. */', '#pragma once']
for source in map(pathlib.Path, sources):
    lines += ['', f'#define TESSERA_SQL_{source.stem.upper()} \\']
    for line in source.read_text(encoding='utf-8').splitlines():
        escaped = line.replace('\\', '\\\\').replace('"', '\\"')
        lines.append(f'  "{escaped}\\n" \\')
    lines.append('  ""')
pathlib.Path(target).write_text('\n'.join(lines) + '\n', encoding='utf-8')
