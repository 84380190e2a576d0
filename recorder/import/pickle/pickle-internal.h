/*
 * Between the machine of pickle.c and its opcodes: containers in pickle-containers.c,
 * numbers and texts in pickle-scalars.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/array.h"
#include "recorder/import/pickle/pickle.h"

/* "FILE: OPCODE at byte N: @what" */
TesseraStatus tessera_pickle_refuse (TesseraPickle *pickle, const char *what);
TesseraStatus tessera_pickle_no_memory (TesseraPickle *pickle);

static inline TesseraStatus
tessera_pickle_push (TesseraPickle *pickle, TesseraValue value)
{
  if (pickle->n_stack == pickle->cap_stack &&
      !TESSERA_RESERVE (pickle->stack, pickle->cap_stack, pickle->n_stack + 1))
    return tessera_pickle_no_memory (pickle);
  pickle->stack[pickle->n_stack++] = value;
  return TESSERA_OK;
}

/* How many values lie above the last mark: those an opcode may take. */
static inline size_t
tessera_pickle_above_mark (const TesseraPickle *pickle)
{
  size_t floor = pickle->n_marks > 0 ? pickle->marks[pickle->n_marks - 1] : 0;

  return pickle->n_stack - floor;
}

static inline uint64_t
tessera_pickle_little_endian (const uint8_t *bytes, size_t n_bytes)
{
  uint64_t number = 0;

  for (size_t i = 0; i < n_bytes; i++)
    number |= (uint64_t) bytes[i] << (8 * i);
  return number;
}

/* Each runs one opcode; @argument are the bytes that follow it. */
TesseraStatus tessera_run_setitems (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_setitem (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_appends (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_append (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_empty_dict (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_empty_list (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_dict (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_list (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_empty_tuple (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_tuple1 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_tuple2 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_tuple3 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_tuple (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_binint1 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_binint2 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_binint (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_long1 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_long4 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_binfloat (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_short_binunicode (TesseraPickle *pickle,
                                            const uint8_t *argument);
TesseraStatus tessera_run_binunicode (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_binunicode8 (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_none (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_newtrue (TesseraPickle *pickle, const uint8_t *argument);
TesseraStatus tessera_run_newfalse (TesseraPickle *pickle, const uint8_t *argument);
