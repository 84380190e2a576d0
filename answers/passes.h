/*
 * Passes of the modules of a list, blocks.0, blocks.1 ...: what checkpointing is about. The
 * inside of suggestions.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/whose.h"

/* One pass of one of them through its forward. */
typedef struct
{
  uint32_t step, forward, backward; /* phases; TESSERA_NONE: there is none, or not yet */
  uint32_t next;                    /* pass of the module; TESSERA_NONE: none yet */
  uint32_t forward_end;             /* behind the last block that it made */
  uint32_t backward_begin;          /* where the first of them goes */
  uint32_t output;     /* the last block, which the next one starts from ... */
  uint64_t most_bytes; /* ... and no statistic of a norm, beside its largest */
} TesseraPass;

typedef struct
{
  char *family; /* "blocks.*": with most bytes of activations at the peak; or NULL */
  uint32_t *of_block; /* [n_blocks] into ...; TESSERA_NONE: made in no pass of these */
  GArray *passes;     /* ... TesseraPass */
} TesseraPasses;

void tessera_passes_find (TesseraPasses *passes, const TesseraWhose *whose);
void tessera_passes_clear (TesseraPasses *passes);
