/*
 * How tables are written down: a column for a field of the struct that a row holds.
 *
 * Private to the files that have tables (db/store/tables.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/store/rows.h"

#define COLUMN(Item, field, column_kind, ...)                                            \
  {                                                                                      \
    .name = #field, .offset = offsetof (Item, field),                                    \
    .kind = TESSERA_COLUMN_##column_kind, __VA_ARGS__                                    \
  }
/* Where the column is called otherwise than the field. */
#define NAMED(column_name, Item, field, column_kind, ...)                                \
  {                                                                                      \
    .name = column_name, .offset = offsetof (Item, field),                               \
    .kind = TESSERA_COLUMN_##column_kind, __VA_ARGS__                                    \
  }
/* The item is the value. */
#define WHOLE(column_name, column_kind, ...)                                             \
  {                                                                                      \
    .name = column_name, .kind = TESSERA_COLUMN_##column_kind, __VA_ARGS__               \
  }
#define BELOW(what) .limit = TESSERA_LIMIT_##what

#define TABLE(variable, table_name, key_name, Item, column_list, ...)                    \
  const TesseraTable tessera_##variable##_table = { .name = table_name,                  \
                                                    .key = key_name,                     \
                                                    .columns = column_list,              \
                                                    .n_columns = sizeof column_list /    \
                                                                 sizeof *column_list,    \
                                                    .item_bytes = sizeof (Item),         \
                                                    __VA_ARGS__ };                       \
  _Static_assert(sizeof column_list / sizeof *column_list <= TESSERA_MAX_COLUMNS,        \
                 "more columns than a row can have")
