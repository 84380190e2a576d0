/*
 * Steps of one kind: see kind.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/kind/kind.h"

#include <stdlib.h>
#include <string.h>

#include "planner/laws/fit/fit.h"
#include "planner/laws/kind/merge.h"

enum
{
  MAX_KINDS = 16, /* more are no kinds but accidents */
  PATIENCE = 64   /* comparisons without a result, each of bounded work */
};

typedef struct
{
  const TesseraBlocks *blocks;
  TesseraSkeleton *skeletons; /* [n] */
  uint32_t first, n;          /* steps [first, first + n) of the structure */
  uint32_t n_failed;          /* comparisons */
  bool are_parts;
  TesseraKinds *out;
} Sorting;

/* Of the steps without a kind, the first of those that are most often exactly the same:
 * of single ones the latest, since the first steps are often special. Returns: n: none.
 */
static uint32_t
find_typical (const Sorting *sorting)
{
  uint32_t best = sorting->n, best_count = 0;

  for (uint32_t i = 0; i < sorting->n; i++)
    {
      uint32_t count = 0;

      if (sorting->out->kind_of_step[sorting->first + i] != TESSERA_NONE ||
          sorting->skeletons[i].n_requests == 0)
        continue;
      for (uint32_t k = i; k < sorting->n; k++)
        count += sorting->out->kind_of_step[sorting->first + k] == TESSERA_NONE &&
                 sorting->skeletons[k].hash == sorting->skeletons[i].hash;
      if (count > best_count || (count == 1 && best_count == 1))
        {
          best = i;
          best_count = count;
        }
    }
  return best;
}

/* The typical step @typical and all that join it. */
static TesseraStatus
gather (Sorting *sorting, uint32_t typical, TesseraKind *kind)
{
  TesseraMerge merge;
  TesseraStatus status = tessera_merge_init (&merge, sorting->n);

  *kind = (TesseraKind){ .steps = calloc (sorting->n + 1, sizeof *kind->steps),
                         .hashes = calloc (sorting->n + 1, sizeof *kind->hashes) };
  merge.are_parts = sorting->are_parts;
  if (!kind->steps || !kind->hashes)
    status = TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i <= sorting->n && status == TESSERA_OK; i++)
    {
      /* The typical one first, then the others. */
      uint32_t k = i == 0 ? typical : i - 1;
      uint32_t *of_step = &sorting->out->kind_of_step[sorting->first + k];
      bool has_joined = false;

      if (*of_step == TESSERA_NONE && sorting->n_failed < PATIENCE)
        {
          status = tessera_merge_step (&merge, &sorting->skeletons[k], k, sorting->blocks,
                                       &has_joined);
          sorting->n_failed += !has_joined;
        }
      if (!has_joined)
        continue;
      *of_step = sorting->out->n_kinds;
      kind->steps[merge.n_steps - 1] = sorting->first + k;
      kind->hashes[merge.n_steps - 1] = sorting->skeletons[k].hash;
    }
  if (status == TESSERA_OK)
    status = tessera_merge_finish (&merge, sorting->blocks, kind);
  tessera_merge_clear (&merge);
  return status;
}

static int
by_size (const void *a, const void *b)
{
  const TesseraKind *x = a;
  const TesseraKind *y = b;

  if (x->n_steps != y->n_steps)
    return x->n_steps > y->n_steps ? -1 : 1;
  return x->steps[0] < y->steps[0] ? -1 : x->steps[0] > y->steps[0];
}

static TesseraStatus
sort (Sorting *sorting)
{
  TesseraKinds *out = sorting->out;
  TesseraStatus status = TESSERA_OK;

  while (out->n_kinds < MAX_KINDS && sorting->n_failed < PATIENCE && status == TESSERA_OK)
    {
      uint32_t typical = find_typical (sorting);

      if (typical == sorting->n)
        break;
      status = gather (sorting, typical, &out->kinds[out->n_kinds]);
      out->n_kinds++;
    }
  if (status != TESSERA_OK)
    return status;
  qsort (out->kinds, out->n_kinds, sizeof *out->kinds, by_size);
  for (uint32_t k = 0; k < out->n_kinds; k++)
    for (uint32_t i = 0; i < out->kinds[k].n_steps; i++)
      out->kind_of_step[out->kinds[k].steps[i]] = k;
  return TESSERA_OK;
}

TesseraStatus
tessera_kinds_init (TesseraKinds *kinds,
                    const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    bool are_parts)
{
  uint32_t n_all = (uint32_t) structure->n_steps;
  uint32_t n = n_all < TESSERA_FIT_STEPS ? n_all : TESSERA_FIT_STEPS;
  Sorting sorting = {
    .blocks = blocks, .first = n_all - n, .are_parts = are_parts, .out = kinds
  };
  TesseraStatus status = TESSERA_OK;

  memset (kinds, 0, sizeof *kinds);
  kinds->kinds = calloc (MAX_KINDS, sizeof *kinds->kinds);
  kinds->kind_of_step = malloc ((n_all + 1) * sizeof *kinds->kind_of_step);
  sorting.skeletons = calloc (n + 1, sizeof *sorting.skeletons);
  if (!kinds->kinds || !kinds->kind_of_step || !sorting.skeletons)
    status = TESSERA_NO_MEMORY;
  else
    memset (kinds->kind_of_step, 0xff, n_all * sizeof *kinds->kind_of_step);
  while (sorting.n < n && status == TESSERA_OK)
    {
      status = tessera_skeleton_init (&sorting.skeletons[sorting.n], trace, blocks,
                                      structure, sorting.first + sorting.n);
      sorting.n += status == TESSERA_OK;
    }
  if (status == TESSERA_OK)
    status = sort (&sorting);
  for (uint32_t i = 0; i < sorting.n; i++)
    tessera_skeleton_clear (&sorting.skeletons[i]);
  free (sorting.skeletons);
  if (status != TESSERA_OK)
    tessera_kinds_clear (kinds);
  return status;
}

void
tessera_kind_clear (TesseraKind *kind)
{
  free (kind->steps);
  free (kind->hashes);
  free (kind->slots);
  free (kind->blocks);
  memset (kind, 0, sizeof *kind);
}

void
tessera_kinds_clear (TesseraKinds *kinds)
{
  for (uint32_t k = 0; k < kinds->n_kinds; k++)
    tessera_kind_clear (&kinds->kinds[k]);
  free (kinds->kinds);
  free (kinds->kind_of_step);
  memset (kinds, 0, sizeof *kinds);
}
