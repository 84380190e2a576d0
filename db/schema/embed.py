#!/usr/bin/env python3
#
# Turns the .sql files of the schema into one C header: embed.py OUT.h FILE.sql ...
# trace-1.sql becomes the string literal TESSERA_SQL_TRACE_1, a line of SQL a line of C.
# All files in their order become TESSERA_SQL_TRACE, those of plans TESSERA_SQL_PLAN: what a
# new file gets. There each ALTER TABLE ... ADD COLUMN is done already, as SQLite would do it,
# which reads all tables anew for each.
#
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re
import sys

ADD_COLUMN = re.compile(r'^ALTER TABLE (\w+) ADD COLUMN ([^;]*);\n', re.M)


def literal(name, text):
    yield from ('', '#define TESSERA_SQL_%s \\' % name)
    for line in text.splitlines():
        yield '  "%s\\n" \\' % line.replace('\\', '\\\\').replace('"', '\\"')
    yield '  ""'


def merged(text):
    """The same tables without ALTER TABLE; the new column stands before the last bracket."""
    for table, column in ADD_COLUMN.findall(text):
        begin = re.search(r'^CREATE TABLE %s \(\n' % table, text, re.M).end()
        end = text.index(') STRICT;', begin)
        text = text[:end] + ', ' + column + text[end:]
    return ADD_COLUMN.sub('', text)


target, *sources = sys.argv[1:]
texts = {source.stem: source.read_text(encoding='utf-8') for source in map(pathlib.Path, sources)}
lines = ['/* Made by db/schema/embed.py from the .sql files beside it. */', '#pragma once']
for name, text in texts.items():
    lines += literal(name.upper().replace('-', '_'), text)
lines += literal('TRACE', merged('\n'.join(texts.values())))
lines += literal('PLAN', merged('\n'.join(text for name, text in texts.items() if name.startswith('plan'))))
pathlib.Path(target).write_text('\n'.join(lines) + '\n', encoding='utf-8')
