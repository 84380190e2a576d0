/*
 * Whether laws of parts hold where steps are cut: see cuts.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/parts/cuts.h"

#include <stdlib.h>

enum
{
  PARAMETRIC_SHARE = 100, /* one in so many of the live bytes may vary at a cut */
  DIFFERENT_SHARE = 256   /* ... of the bytes asked for has to, between parts of a step */
};

/* Of the requests that both parts make. A few bytes may be a pair of requests that only
 * lie at the same place: a first window of a recurrent network, say, which has no state
 * yet. */
static bool
differ_in_bytes (const TesseraKind *kind,
                 const TesseraBlocks *blocks,
                 uint32_t a,
                 uint32_t b)
{
  uint64_t all_bytes = 0, different_bytes = 0;

  for (uint32_t i = 0; i < kind->n_slots; i++)
    {
      uint32_t block_a = tessera_kind_block (kind, i, a);
      uint32_t block_b = tessera_kind_block (kind, i, b);
      uint64_t a_bytes, b_bytes;

      if (block_a == TESSERA_NONE || block_b == TESSERA_NONE)
        continue;
      a_bytes = blocks->blocks[block_a].size_bytes;
      b_bytes = blocks->blocks[block_b].size_bytes;
      all_bytes += a_bytes > b_bytes ? a_bytes : b_bytes;
      different_bytes += a_bytes > b_bytes ? a_bytes - b_bytes : b_bytes - a_bytes;
    }
  return different_bytes > all_bytes / DIFFERENT_SHARE;
}

/* The kind's parts @a and @b are of one step and have other parameters. */
static bool
differ (const TesseraLaws *laws,
        const TesseraKind *kind,
        const TesseraFitSteps *of,
        uint32_t a,
        uint32_t b)
{
  const uint32_t *step_of = laws->parts.step_of;

  return step_of[kind->steps[a]] == step_of[kind->steps[b]] &&
         (of->parameters[a].length != of->parameters[b].length ||
          of->parameters[a].batch != of->parameters[b].batch);
}

/* Of those that were looked at; what lies between steps is none. */
static bool
holds_most (const TesseraLaws *laws, const TesseraKind *kind)
{
  size_t n_all = laws->parts.structure.n_steps, n = 0;

  for (size_t i = n_all > TESSERA_FIT_STEPS ? n_all - TESSERA_FIT_STEPS : 0; i < n_all;
       i++)
    n += laws->parts.step_of[i] < laws->parts.whole->n_steps;
  return 4 * (size_t) kind->n_steps >= 3 * n;
}

/* Else laws of whole steps say as much. */
static bool
do_parts_differ (const TesseraLaws *laws,
                 const TesseraKind *kind,
                 const TesseraFitSteps *of,
                 const TesseraBlocks *blocks)
{
  for (uint32_t a = 0; a < kind->n_steps; a++)
    for (uint32_t b = 0; b < a; b++)
      if (differ (laws, kind, of, a, b) && differ_in_bytes (kind, blocks, a, b))
        return true;
  return false;
}

/* Blocks of slots that were seen more than once and not always of one size. */
static void
mark_varying (const TesseraKind *kind, const TesseraKindLaws *of, bool *out_varies)
{
  for (uint32_t i = 0; i < kind->n_slots; i++)
    if (kind->slots[i].n_seen > 1 &&
        of->laws[of->law_of_slot[i]].kind != TESSERA_SIZE_CONSTANT)
      for (uint32_t k = 0; k < kind->n_steps; k++)
        if (tessera_kind_block (kind, i, k) != TESSERA_NONE)
          out_varies[tessera_kind_block (kind, i, k)] = true;
}

static bool
is_clean (const TesseraBlocks *blocks, const bool *varies, uint32_t cut_index)
{
  uint64_t live_bytes = 0, varying_bytes = 0;

  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &blocks->blocks[i];
      bool is_born = block->born_index < cut_index || block->flags & TESSERA_AT_START;

      if (!is_born || block->died_index <= cut_index)
        continue;
      live_bytes += block->block_bytes;
      varying_bytes += varies[i] ? block->block_bytes : 0;
    }
  return varying_bytes <= live_bytes / PARAMETRIC_SHARE;
}

TesseraStatus
tessera_cuts_are_clean (const TesseraLaws *laws,
                        const TesseraBlocks *blocks,
                        bool *out_are_clean)
{
  const TesseraStructure *parts = &laws->parts.structure;
  const TesseraKindLaws *of;
  const TesseraKind *kind = tessera_laws_main (laws, &of);
  bool *varies;

  *out_are_clean = false;
  if (!kind || !holds_most (laws, kind) ||
      !do_parts_differ (laws, kind, &of->steps, blocks))
    return TESSERA_OK;
  varies = calloc (blocks->n_blocks + 1, sizeof *varies);
  if (!varies)
    return TESSERA_NO_MEMORY;
  mark_varying (kind, of, varies);
  *out_are_clean = true;
  for (size_t i = 1; i < parts->n_steps && *out_are_clean; i++)
    if (laws->parts.step_of[i] == laws->parts.step_of[i - 1])
      *out_are_clean = is_clean (blocks, varies, parts->steps[i].begin_index);
  free (varies);
  return TESSERA_OK;
}
