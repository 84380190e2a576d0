/*
 * The kinds of step of a trace, and the size models of each.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include <stdlib.h>
#include <string.h>

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
static void
gather (Sorting *sorting, uint32_t typical, TesseraKind *kind)
{
  TesseraMerge merge;

  tessera_merge_init (&merge, sorting->n);
  merge.are_parts = sorting->are_parts;
  *kind = (TesseraKind){ .steps = g_new0 (uint32_t, sorting->n + 1),
                         .hashes = g_new0 (uint64_t, sorting->n + 1) };
  for (uint32_t i = 0; i <= sorting->n; i++)
    {
      /* The typical one first, then the others. */
      uint32_t k = i == 0 ? typical : i - 1;
      uint32_t *of_step = &sorting->out->kind_of_step[sorting->first + k];

      if (*of_step != TESSERA_NONE || sorting->n_failed == PATIENCE)
        continue;
      if (!tessera_merge_step (&merge, &sorting->skeletons[k], k, sorting->blocks))
        {
          sorting->n_failed++;
          continue;
        }
      *of_step = sorting->out->n_kinds;
      kind->steps[merge.n_steps - 1] = sorting->first + k;
      kind->hashes[merge.n_steps - 1] = sorting->skeletons[k].hash;
    }
  tessera_merge_finish (&merge, sorting->blocks, kind);
  tessera_merge_clear (&merge);
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

static void
sort (Sorting *sorting)
{
  TesseraKinds *out = sorting->out;

  while (out->n_kinds < MAX_KINDS && sorting->n_failed < PATIENCE)
    {
      uint32_t typical = find_typical (sorting);

      if (typical == sorting->n)
        break;
      gather (sorting, typical, &out->kinds[out->n_kinds]);
      out->n_kinds++;
    }
  qsort (out->kinds, out->n_kinds, sizeof *out->kinds, by_size);
  for (uint32_t k = 0; k < out->n_kinds; k++)
    for (uint32_t i = 0; i < out->kinds[k].n_steps; i++)
      out->kind_of_step[out->kinds[k].steps[i]] = k;
}

/* Of all steps; of more than TESSERA_FIT_STEPS the last so many. @are_parts: of steps: of
 * one kind although the last of a step goes on with the optimizer. */
static void
kinds_init (TesseraKinds *kinds,
            const TesseraTrace *trace,
            const TesseraBlocks *blocks,
            const TesseraStructure *structure,
            bool are_parts)
{
  uint32_t n_all = (uint32_t) structure->n_steps, n = MIN (n_all, TESSERA_FIT_STEPS);
  Sorting sorting = { .blocks = blocks,
                      .skeletons = g_new0 (TesseraSkeleton, n + 1),
                      .first = n_all - n,
                      .n = n,
                      .are_parts = are_parts,
                      .out = kinds };

  *kinds = (TesseraKinds){ .kinds = g_new0 (TesseraKind, MAX_KINDS),
                           .kind_of_step = g_new (uint32_t, n_all + 1) };
  memset (kinds->kind_of_step, 0xff, n_all * sizeof *kinds->kind_of_step);
  for (uint32_t i = 0; i < n; i++)
    tessera_skeleton_init (&sorting.skeletons[i], trace, blocks, structure,
                           sorting.first + i);
  sort (&sorting);
  for (uint32_t i = 0; i < n; i++)
    tessera_skeleton_clear (&sorting.skeletons[i]);
  g_free (sorting.skeletons);
}

static void
kind_clear (TesseraKind *kind)
{
  g_free (kind->steps);
  g_free (kind->hashes);
  g_free (kind->slots);
  g_free (kind->blocks);
  *kind = (TesseraKind){ 0 };
}

static void
kinds_clear (TesseraKinds *kinds)
{
  for (uint32_t k = 0; k < kinds->n_kinds; k++)
    kind_clear (&kinds->kinds[k]);
  g_free (kinds->kinds);
  g_free (kinds->kind_of_step);
  *kinds = (TesseraKinds){ 0 };
}

typedef struct
{
  const TesseraKind *kind;
  const TesseraBlocks *blocks;
  const TesseraFitSteps *steps;
  TesseraSizeLaw *laws;   /* those of the typical steps where all have none */
  uint32_t *law_of_slot;  /* [n_slots] */
  uint32_t *law_of_block; /* [n_blocks] */
  TesseraSkeleton *skeletons;
  bool are_parts;
} Refine;

/* The law of sizes, from the steps that are exactly like the first if need be. */
static void
fit_sizes (const Refine *refine,
           const TesseraFitTerms *terms,
           const uint64_t *sizes,
           TesseraSizeLaw *law)
{
  uint64_t typical[TESSERA_FIT_STEPS];
  const TesseraKind *kind = refine->kind;

  tessera_fit_law (terms, sizes, law);
  if (law->kind != TESSERA_SIZE_BOUNDED)
    return;
  for (uint32_t k = 0; k < kind->n_steps; k++)
    typical[k] = kind->hashes[k] == kind->hashes[0] ? sizes[k] : TESSERA_ABSENT;
  tessera_fit_law (terms, typical, law);
}

/* Slots of equal sizes share a model. */
static void
fit_slots (Refine *refine)
{
  g_autofree TesseraFitTerms *terms = g_new (TesseraFitTerms, 1);
  TesseraVectors vectors;

  tessera_vectors_init (&vectors, refine->kind, refine->blocks);
  tessera_fit_terms_set (terms, refine->steps);
  refine->laws = g_new0 (TesseraSizeLaw, vectors.n_vectors + 1);
  for (uint32_t i = 0; i < vectors.n_vectors; i++)
    fit_sizes (refine, terms, tessera_vector (&vectors, i), &refine->laws[i]);
  refine->law_of_slot = g_steal_pointer (&vectors.of_slot);
  tessera_vectors_clear (&vectors);
}

/* Each block whose size its slot's model gives. */
static void
see_blocks (Refine *refine)
{
  const TesseraKind *kind = refine->kind;

  for (uint32_t i = 0; i < kind->n_slots; i++)
    for (uint32_t k = 0; k < kind->n_steps; k++)
      {
        const TesseraSizeLaw *law = &refine->laws[refine->law_of_slot[i]];
        uint32_t block = tessera_kind_block (kind, i, k);
        uint64_t bytes;

        if (block != TESSERA_NONE && law->kind != TESSERA_SIZE_BOUNDED &&
            tessera_size_law_evaluate (law, &refine->steps->parameters[k], &bytes) &&
            bytes == refine->blocks->blocks[block].size_bytes)
          refine->law_of_block[block] = refine->law_of_slot[i];
      }
}

/* All steps merged anew, in the same order. Returns: false: one no longer joins. */
static bool
merge_all (const Refine *refine, TesseraKind *out_kind)
{
  const TesseraKind *kind = refine->kind;
  const TesseraMergeSizes sizes = { .laws = refine->laws,
                                    .law_of_block = refine->law_of_block,
                                    .parameters = refine->steps->parameters };
  TesseraMerge merge;
  bool has_joined = true;

  tessera_merge_init (&merge, kind->n_steps);
  merge.sizes = &sizes;
  merge.are_parts = refine->are_parts;
  for (uint32_t k = 0; k < kind->n_steps && has_joined; k++)
    has_joined = tessera_merge_step (&merge, &refine->skeletons[k], k, refine->blocks);
  if (has_joined)
    tessera_merge_finish (&merge, refine->blocks, out_kind);
  tessera_merge_clear (&merge);
  return has_joined;
}

/* Takes the new one for the kind, whose steps it has. */
static void
adopt (const Refine *refine,
       TesseraKind *kind,
       TesseraKindLaws *laws,
       TesseraKind *better)
{
  better->steps = g_steal_pointer (&kind->steps);
  better->hashes = g_steal_pointer (&kind->hashes);
  kind_clear (kind);
  *kind = *better;
  tessera_kind_laws_clear (laws);
  tessera_kind_laws_init (laws, kind, refine->blocks, refine->steps, false);
}

/*
 * The kind compared once more, by sizes. Where steps leave requests out, skeletons alone
 * pair some wrongly: one request too early or too late, of another size. Models that hold
 * for the typical steps, those that do exactly the same, say which.
 */
static void
refine_kind (TesseraKind *kind,
             TesseraKindLaws *laws,
             const TesseraTrace *trace,
             const TesseraBlocks *blocks,
             const TesseraStructure *structure,
             bool are_parts)
{
  const TesseraFitSteps steps = laws->steps;
  uint32_t n_steps = kind->n_steps;
  Refine refine = { .kind = kind,
                    .blocks = blocks,
                    .steps = &steps,
                    .law_of_block = g_new (uint32_t, blocks->n_blocks + 1),
                    .skeletons = g_new0 (TesseraSkeleton, n_steps + 1),
                    .are_parts = are_parts };
  TesseraKind better = { .n_slots = 0 };

  memset (refine.law_of_block, 0xff, blocks->n_blocks * sizeof *refine.law_of_block);
  for (uint32_t k = 0; k < n_steps; k++)
    tessera_skeleton_init (&refine.skeletons[k], trace, blocks, structure,
                           kind->steps[k]);
  fit_slots (&refine);
  see_blocks (&refine);
  if (merge_all (&refine, &better))
    adopt (&refine, kind, laws, &better);
  for (uint32_t k = 0; k < n_steps; k++)
    tessera_skeleton_clear (&refine.skeletons[k]);
  g_free (refine.skeletons);
  g_free (refine.laws);
  g_free (refine.law_of_slot);
  g_free (refine.law_of_block);
}

/* What was compared without sizes may have paired requests that only lie at the same place
 * (where a length is a multiple of 8 attention spares a copy), and a batch explains any such
 * pairs. So the kind is compared anew by the models of one length, where that tells most, and
 * batch and length are looked for in what is left. */
static void
search_again (TesseraLaws *laws,
              uint32_t kind,
              const TesseraTrace *trace,
              const TesseraBlocks *blocks,
              const TesseraStructure *structure)
{
  TesseraKind *of = &laws->kinds.kinds[kind];
  TesseraKindLaws one;

  tessera_kind_laws_init (&one, of, blocks, NULL, true);
  if (one.varies)
    {
      refine_kind (of, &one, trace, blocks, structure, laws->parts.phase != NULL);
      tessera_kind_laws_clear (&laws->laws[kind]);
      tessera_kind_laws_init (&laws->laws[kind], of, blocks, NULL, false);
    }
  tessera_kind_laws_clear (&one);
}

static void
find_laws (TesseraLaws *laws,
           uint32_t kind,
           const TesseraTrace *trace,
           const TesseraBlocks *blocks,
           const TesseraStructure *structure)
{
  TesseraKind *of = &laws->kinds.kinds[kind];

  if (of->n_steps < TESSERA_LAW_STEPS)
    return;
  tessera_kind_laws_init (&laws->laws[kind], of, blocks, NULL, false);
  if (laws->laws[kind].varies && laws->laws[kind].steps.has_batch)
    search_again (laws, kind, trace, blocks, structure);
  if (laws->laws[kind].varies)
    refine_kind (of, &laws->laws[kind], trace, blocks, structure,
                 laws->parts.phase != NULL);
}

/* Kinds and models of what the structure calls steps. */
static void
find_all (TesseraLaws *laws,
          const TesseraTrace *trace,
          const TesseraBlocks *blocks,
          const TesseraStructure *structure)
{
  kinds_init (&laws->kinds, trace, blocks, structure, laws->parts.phase != NULL);
  laws->laws = g_new0 (TesseraKindLaws, laws->kinds.n_kinds + 1);
  for (uint32_t k = 0; k < laws->kinds.n_kinds; k++)
    find_laws (laws, k, trace, blocks, structure);
}

TesseraLaws *
tessera_laws_new (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure)
{
  TesseraLaws *laws = g_new0 (TesseraLaws, 1);

  tessera_step_parts_init (&laws->parts, trace, structure);
  if (laws->parts.phase)
    {
      find_all (laws, trace, blocks, &laws->parts.structure);
      if (tessera_cuts_are_clean (laws, blocks))
        return laws;
      tessera_laws_free (laws);
      laws = g_new0 (TesseraLaws, 1);
    }
  find_all (laws, trace, blocks, structure);
  return laws;
}

void
tessera_laws_free (TesseraLaws *laws)
{
  if (!laws)
    return;
  for (uint32_t k = 0; k < laws->kinds.n_kinds; k++)
    tessera_kind_laws_clear (&laws->laws[k]);
  g_free (laws->laws);
  kinds_clear (&laws->kinds);
  tessera_step_parts_clear (&laws->parts);
  g_free (laws);
}

const TesseraKind *
tessera_laws_main (const TesseraLaws *laws, const TesseraKindLaws **out_kind_laws)
{
  *out_kind_laws = NULL;
  for (uint32_t k = 0; k < laws->kinds.n_kinds; k++)
    if (laws->laws[k].varies)
      {
        *out_kind_laws = &laws->laws[k];
        return &laws->kinds.kinds[k];
      }
  return NULL;
}
