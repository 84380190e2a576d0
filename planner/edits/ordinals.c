/*
 * Ordinals of blocks among their like: planner/edit.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/ordinals.h"

#include "db/hash.h"

#include <stdlib.h>
#include <string.h>

/* Labels that inferred phases can have are fewer. */
#define N_LABELS 16

typedef struct
{
  uint64_t size_bytes;
  uint32_t step, name;
  uint32_t count; /* 0: unused */
} Like;

typedef struct
{
  Like *likes;
  size_t n_likes; /* a power of two */
} LikeTable;

static Like *
find (const LikeTable *table, uint64_t size_bytes, uint32_t step, uint32_t name)
{
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, size_bytes);
  size_t at;

  hash = tessera_hash_number (hash, (uint64_t) step << 32 | name);
  for (at = (size_t) (hash >> 16) & (table->n_likes - 1);;
       at = (at + 1) & (table->n_likes - 1))
    {
      Like *like = &table->likes[at];

      if (like->count &&
          (like->size_bytes != size_bytes || like->step != step || like->name != name))
        continue;
      like->size_bytes = size_bytes;
      like->step = step;
      like->name = name;
      return like;
    }
}

/* The string that says what the label says, else a number beyond all strings. */
static uint32_t
name_of_label (const TesseraTrace *trace, const char *label, uint32_t number)
{
  uint32_t n_strings = (uint32_t) tessera_trace_n_strings (trace);

  for (uint32_t i = 0; i < n_strings; i++)
    if (strcmp (tessera_trace_string (trace, i), label) == 0)
      return i;
  return n_strings + number;
}

/* Names are interned, labels a handful of static texts. */
void
tessera_phase_numbers (const TesseraTrace *trace,
                       const TesseraStructure *structure,
                       uint32_t *names)
{
  const TesseraPhase *phases = structure->phases;
  const char *labels[N_LABELS] = { NULL };
  uint32_t of_label[N_LABELS], n_labels = 0, k;

  for (uint32_t i = 0; i < structure->n_phases; i++)
    {
      names[i] = phases[i].name;
      if (!phases[i].label)
        continue;
      for (k = 0; k < n_labels && labels[k] != phases[i].label;)
        k++;
      if (k == n_labels && n_labels < N_LABELS)
        {
          labels[k] = phases[i].label;
          of_label[n_labels++] = name_of_label (trace, labels[k], k);
        }
      names[i] = k < N_LABELS ? of_label[k] : name_of_label (trace, phases[i].label, k);
    }
}

TesseraStatus
tessera_block_ordinals (const TesseraTrace *trace,
                        const TesseraBlocks *blocks,
                        const TesseraStructure *structure,
                        uint32_t *ordinals)
{
  LikeTable table = { NULL, 16 };
  uint32_t *names = malloc ((structure->n_phases + 1) * sizeof *names);
  TesseraStatus status = TESSERA_NO_MEMORY;

  while (table.n_likes < 2 * blocks->n_blocks)
    table.n_likes *= 2;
  table.likes = calloc (table.n_likes, sizeof *table.likes);
  if (table.likes && names)
    {
      tessera_phase_numbers (trace, structure, names);
      for (size_t i = 0; i < blocks->n_blocks; i++)
        {
          const TesseraBlock *block = &blocks->blocks[i];
          uint32_t name =
              block->born_phase == TESSERA_NONE ? TESSERA_NONE : names[block->born_phase];

          ordinals[i] = find (&table, block->size_bytes, block->step, name)->count++;
        }
      status = TESSERA_OK;
    }
  free (table.likes);
  free (names);
  return status;
}
