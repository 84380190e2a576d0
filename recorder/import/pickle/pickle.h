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
/* What waits on the stack is mostly records of 50 bytes of file and more. A file that
 * piles up values of a byte each would take several times its size in memory: past so
 * many values each has to stand for so many bytes read. */
#define TESSERA_PICKLE_FREE_STACK ((size_t) 1 << 20)
#define TESSERA_PICKLE_STACK_VALUE_BYTES 12
#define TESSERA_PICKLE_MAX_STACK ((size_t) 1 << 27)        /* values: 1 GiB */
#define TESSERA_PICKLE_MAX_OBJECTS ((size_t) 1 << 24)      /* lists and dicts at once */
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
  uint64_t op_at; /* position of the opcode at work */
  const char *op_name;
  char *text; /* of a text longer than the stream's window */
  size_t cap_text;
  uint8_t protocol;
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

/* Inside a call of dict_done: the list @value has been used up and stands for the record
 * @becomes from now on, wherever the file refers to it. */
TESSERA_MUST_USE TesseraStatus tessera_pickle_become (TesseraPickle *pickle,
                                                      TesseraValue value,
                                                      TesseraValue becomes);
