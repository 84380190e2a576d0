/*
 * What a selection is, told in numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "viewer/document/data.h"
#include "viewer/document/select/selection.h"

#define TESSERA_N_COMMON 4

/* A value that blocks have in common, and how many have it. */
typedef struct
{
  uint64_t value;
  size_t n_blocks;
} TesseraCommon;

typedef struct
{
  TesseraSelection *selection; /* of which; owned */
  uint64_t size_bytes;         /* asked for, of all */
  uint64_t most_bytes;         /* block bytes alive at once, at the most: a height below
                                  which they cannot lie */
  uint32_t most_index;         /* first event of it */
  uint64_t peak_bytes;         /* block bytes alive at the trace's peak */
  uint32_t largest;            /* block */
  uint32_t least_life, most_life;         /* events */
  uint64_t n_of_class[TESSERA_N_CLASSES]; /* blocks by TesseraClass */
  TesseraCommon sizes[TESSERA_N_COMMON];  /* size_bytes, most common first */
  TesseraCommon phases[TESSERA_N_COMMON]; /* a block of such phases, likewise */
  TesseraCommon groups[TESSERA_N_COMMON]; /* index, or TESSERA_NONE */
  size_t n_sizes, n_phases, n_groups;     /* different ones */
  uint32_t first_step, last_step;         /* of birth; TESSERA_NONE: none is in a step */
  uint32_t n_streams;
} TesseraSelectionFacts;

/* Sorts them several times: for workers. @out_facts was clear. */
void tessera_selection_facts (const TesseraData *data,
                              TesseraSelection *selection,
                              TesseraSelectionFacts *out_facts);
void tessera_selection_facts_clear (TesseraSelectionFacts *facts);
/* The phases of birth and death: as many words as TesseraSelectionFacts tells apart, so
 * that no two of its phases read alike. */
char *tessera_selection_facts_describe_phases (const TesseraData *data, uint32_t block);
