/*
 * What blocks that were listed by hand are called in every trace of one program.
 *
 * An index means a block of one trace. Its size, the phase and the step that it was born
 * in and its ordinal among its like mean it in tomorrow's trace, too, where another index
 * may lie before it. Names are made once and never change: copies of a selector share
 * them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdatomic.h>

#include "planner/edit.h"

/* A program has a handful of phases, one for each micro-batch at most; they are looked
 * through one by one. */
#define TESSERA_MOST_NAME_PHASES 4096

typedef struct
{
  uint64_t size_bytes; /* asked for */
  uint32_t step;       /* of the trace, from 0; TESSERA_NONE: born in none */
  uint32_t phase;      /* into phases; TESSERA_NONE: born in none */
  uint32_t ordinal;    /* see tessera_block_ordinals */
} TesseraBlockName;

struct TesseraBlockNames
{
  atomic_uint n_owners;
  TesseraBlockName *names; /* in the order of the selector's blocks */
  size_t n_names;
  char **phases; /* each once */
  size_t n_phases, cap_phases;
};

/* Owned once. */
TesseraBlockNames *tessera_block_names_new (size_t n_names);
/* One owner more, one less; any thread; NULL is fine. */
TesseraBlockNames *tessera_block_names_ref (TesseraBlockNames *names);
void tessera_block_names_unref (TesseraBlockNames *names);
/* Before anybody else has them. @phase: (nullable). Returns: false: they are of more
 * than TESSERA_MOST_NAME_PHASES. */
TESSERA_MUST_USE bool tessera_block_names_set (TesseraBlockNames *names,
                                               size_t index,
                                               uint64_t size_bytes,
                                               const char *phase,
                                               uint32_t step,
                                               uint32_t ordinal);
