/*
 * A reader of pickles that hold plain data: numbers, texts, lists, tuples, dicts.
 *
 * A pickle is a program for a stack machine, and one from elsewhere may say "import this
 * module and call it". This machine knows the opcodes of plain data and nothing else; all
 * others end the reading, by name. It runs in a loop with a stack of its own, so that no
 * file decides how deep we recurse, and it never allocates what a file merely announces:
 * memory follows the bytes that are really there.
 *
 * Dicts are shown to the owner as they complete, who may turn them into records (heap.h);
 * then their memory is used again. That is how files larger than memory are read: what
 * stays is 8 bytes for each memo entry and what the owner keeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "recorder/import/heap.h"
#include "recorder/import/stream.h"

#define TESSERA_PICKLE_MAX_NESTING 10000
/* Snapshots hold at most one byte of values, lists, dicts and memo for each byte read. A
 * file that piles up lists of a byte each would take fifty times its size: past so many
 * bytes at once no more than so many may be held for each byte read. */
#define TESSERA_PICKLE_FREE_BYTES ((uint64_t) 16 << 20)
#define TESSERA_PICKLE_HELD_PER_BYTE 4
/* By then a snapshot has shown an entry, a block or a frame. */
#define TESSERA_PICKLE_FIRST_RECORD_BYTES ((uint64_t) 1 << 20)
#define TESSERA_PICKLE_MAX_TEXT_BYTES ((uint64_t) 1 << 28) /* one text */
#define TESSERA_PICKLE_MAX_RECORD_PAIRS 256 /* longer dicts are no records */

typedef struct TesseraPickle TesseraPickle;

/*
 * A dict is complete.
 * @pairs: key, value, key, value ..., @n_pairs pairs; borrowed for the call
 * @out_value: preset to "stays a dict"; set it to a record's value to turn it into that
 */
typedef TesseraStatus (*TesseraPickleDict) (void *user,
                                            TesseraPickle *pickle,
                                            const TesseraValue *pairs,
                                            size_t n_pairs,
                                            TesseraValue *out_value);

struct TesseraPickle
{
  TesseraHeap heap;
  TesseraStream *stream;
  TesseraError *error;
  TesseraPickleDict dict_done; /* may be NULL */
  void *user;

  TesseraValue *stack;
  size_t n_stack, cap_stack;
  size_t *marks; /* heights of the stack */
  size_t n_marks, cap_marks;
  TesseraValue *memo;
  size_t n_memo, cap_memo;
  uint64_t op_at;    /* position of the opcode at work */
  uint64_t weigh_at; /* position where what is held is looked at again */
  const char *op_name;
  char *text; /* of a text longer than the stream's window */
  size_t cap_text;
  uint8_t protocol;
  uint8_t op_before; /* FRAME left out */
  bool is_judged;    /* its first object may be a snapshot's */
  bool has_records;
  bool is_done;
};

TESSERA_MUST_USE TesseraStatus tessera_pickle_init (TesseraPickle *pickle,
                                                    TesseraStream *stream,
                                                    TesseraError *error);
void tessera_pickle_clear (TesseraPickle *pickle);

/* Gives the memo and the stack back, keeps the heap: after the reading. */
void tessera_pickle_forget_memo (TesseraPickle *pickle);

/* Runs to STOP. Failures say file, byte, opcode and what to do. */
TESSERA_MUST_USE TesseraStatus tessera_pickle_read (TesseraPickle *pickle,
                                                    TesseraValue *out_value);

/* "FILE is a pickle of @what, not a memory snapshot ..." */
TesseraStatus tessera_pickle_refuse_top (TesseraPickle *pickle, const char *what);

/* Inside a call of dict_done: the list @value has been used up and stands for the record
 * @becomes from now on, wherever the file refers to it. */
TESSERA_MUST_USE TesseraStatus tessera_pickle_become (TesseraPickle *pickle,
                                                      TesseraValue value,
                                                      TesseraValue becomes);
