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
  TesseraSkeleton *skeletons; /* [n] of steps of the structure */
  uint32_t n, n_skipped;      /* ... so many in the midst */
  uint32_t *kinds;            /* [n] of each step; TESSERA_NONE: of none yet */
  uint32_t n_failed;          /* comparisons */
  TesseraLaws *out;
} Search;

/* The first steps make what is kept, the optimizer's state, and the last are typical. */
static uint32_t
step_of (const Search *search, uint32_t skeleton)
{
  return skeleton < search->n / 2 ? skeleton : skeleton + search->n_skipped;
}

static uint32_t
skeleton_of (const Search *search, uint32_t step)
{
  return step < search->n / 2 ? step : step - search->n_skipped;
}

/* Of the steps without a kind, the first of those that are most often exactly the same:
 * of single ones the latest, since the first steps are often special. Returns: n: none.
 */
static uint32_t
find_typical (const Search *search)
{
  const uint32_t *kinds = search->kinds;
  uint32_t best = search->n, best_count = 0;

  for (uint32_t i = 0; i < search->n; i++)
    {
      uint32_t count = 0;

      if (kinds[i] != TESSERA_NONE || search->skeletons[i].n_requests == 0)
        continue;
      for (uint32_t k = i; k < search->n; k++)
        count += kinds[k] == TESSERA_NONE &&
                 search->skeletons[k].hash == search->skeletons[i].hash;
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
gather (Search *search, uint32_t typical, TesseraKind *kind)
{
  TesseraMerge merge;

  tessera_merge_init (&merge, search->n);
  merge.are_parts = search->out->parts.phase != NULL;
  *kind = (TesseraKind){ .steps = g_new0 (uint32_t, search->n + 1),
                         .hashes = g_new0 (uint64_t, search->n + 1) };
  for (uint32_t i = 0; i <= search->n; i++)
    {
      /* The typical one first, then the others. */
      uint32_t k = i == 0 ? typical : i - 1;

      if (search->kinds[k] != TESSERA_NONE || search->n_failed == PATIENCE)
        continue;
      if (!tessera_merge_step (&merge, &search->skeletons[k], k, search->blocks))
        {
          search->n_failed++;
          continue;
        }
      search->kinds[k] = search->out->n_kinds;
      kind->steps[merge.n_steps - 1] = step_of (search, k);
      kind->hashes[merge.n_steps - 1] = search->skeletons[k].hash;
    }
  tessera_merge_finish (&merge, search->blocks, kind);
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
find_kinds (Search *search)
{
  TesseraLaws *out = search->out;

  out->kinds = g_new0 (TesseraKind, MAX_KINDS);
  while (out->n_kinds < MAX_KINDS && search->n_failed < PATIENCE)
    {
      uint32_t typical = find_typical (search);

      if (typical == search->n)
        break;
      gather (search, typical, &out->kinds[out->n_kinds]);
      out->n_kinds++;
    }
  qsort (out->kinds, out->n_kinds, sizeof *out->kinds, by_size);
}

static void
kind_clear (TesseraKind *kind)
{
  g_free (kind->steps);
  g_free (kind->hashes);
  g_free (kind->slots);
  g_free (kind->blocks);
  tessera_kind_laws_clear (&kind->laws);
  *kind = (TesseraKind){ 0 };
}

/* The law of sizes, from the steps that are exactly like the first if need be. */
static void
fit_sizes (const TesseraKind *kind,
           const TesseraFitTerms *terms,
           const uint64_t *sizes,
           TesseraSizeLaw *law)
{
  uint64_t typical[TESSERA_FIT_STEPS];

  tessera_fit_law (terms, sizes, law);
  if (law->kind != TESSERA_SIZE_BOUNDED)
    return;
  for (uint32_t k = 0; k < kind->n_steps; k++)
    typical[k] = kind->hashes[k] == kind->hashes[0] ? sizes[k] : TESSERA_ABSENT;
  tessera_fit_law (terms, typical, law);
}

/* The law of each block whose size it gives, of @laws, which slots of equal sizes share. */
static void
know_sizes (const Search *search,
            const TesseraKind *kind,
            const TesseraFitSteps *steps,
            TesseraSizeLaw **laws,
            uint32_t *law_of_block)
{
  g_autofree TesseraFitTerms *terms = g_new (TesseraFitTerms, 1);
  TesseraVectors vectors;

  tessera_vectors_init (&vectors, kind, search->blocks);
  tessera_fit_terms_set (terms, steps);
  *laws = g_new0 (TesseraSizeLaw, vectors.n_vectors + 1);
  for (uint32_t i = 0; i < vectors.n_vectors; i++)
    fit_sizes (kind, terms, tessera_vector (&vectors, i), &(*laws)[i]);
  for (uint32_t i = 0; i < kind->n_slots; i++)
    for (uint32_t k = 0; k < kind->n_steps; k++)
      {
        const TesseraSizeLaw *law = &(*laws)[vectors.of_slot[i]];
        uint32_t block = tessera_kind_block (kind, i, k);
        uint64_t bytes;

        if (block != TESSERA_NONE && law->kind != TESSERA_SIZE_BOUNDED &&
            tessera_size_law_evaluate (law, &steps->parameters[k], &bytes) &&
            bytes == search->blocks->blocks[block].size_bytes)
          law_of_block[block] = vectors.of_slot[i];
      }
  tessera_vectors_clear (&vectors);
}

/*
 * The kind compared once more, by sizes. Where steps leave requests out, skeletons alone
 * pair some wrongly: one request too early or too late, of another size. Models that hold
 * for the typical steps, those that do exactly the same, say which.
 */
static void
refine_kind (const Search *search, TesseraKind *kind)
{
  const TesseraFitSteps steps = kind->laws.steps;
  g_autofree uint32_t *law_of_block = tessera_new_nones (search->blocks->n_blocks);
  g_autofree TesseraSizeLaw *of_sizes = NULL;
  TesseraMergeSizes sizes = { .law_of_block = law_of_block,
                              .parameters = steps.parameters };
  TesseraKind better = { .n_slots = 0 };
  TesseraMerge merge;
  bool has_joined = true;

  know_sizes (search, kind, &steps, &of_sizes, law_of_block);
  sizes.laws = of_sizes;
  tessera_merge_init (&merge, kind->n_steps);
  merge.sizes = &sizes;
  merge.are_parts = search->out->parts.phase != NULL;
  for (uint32_t k = 0; k < kind->n_steps && has_joined; k++)
    has_joined = tessera_merge_step (
        &merge, &search->skeletons[skeleton_of (search, kind->steps[k])], k,
        search->blocks);
  if (has_joined)
    {
      tessera_merge_finish (&merge, search->blocks, &better);
      better.steps = g_steal_pointer (&kind->steps);
      better.hashes = g_steal_pointer (&kind->hashes);
      kind_clear (kind);
      *kind = better;
      tessera_kind_laws_init (kind, search->blocks, &steps, false);
    }
  tessera_merge_clear (&merge);
}

/* What was compared without sizes may have paired requests that only lie at the same place
 * (where a length is a multiple of 8 attention spares a copy), and a batch explains any such
 * pairs. So the kind is compared anew by the models of one length, where that tells most, and
 * batch and length are looked for in what is left. */
static void
find_laws (const Search *search, TesseraKind *kind)
{
  for (int has_batch = 0; has_batch < 2 && kind->n_steps >= TESSERA_LAW_STEPS;
       has_batch++)
    {
      tessera_kind_laws_clear (&kind->laws);
      tessera_kind_laws_init (kind, search->blocks, NULL, !has_batch);
      if (kind->laws.varies)
        refine_kind (search, kind);
    }
}

/* Kinds and models of what the structure calls steps; of more than TESSERA_FIT_STEPS of
 * half as many each at both ends. */
static void
find_all (TesseraLaws *laws,
          const TesseraTrace *trace,
          const TesseraBlocks *blocks,
          const TesseraStructure *structure)
{
  uint32_t n_all = (uint32_t) structure->n_steps, n = MIN (n_all, TESSERA_FIT_STEPS);
  g_autofree TesseraSkeleton *skeletons = g_new0 (TesseraSkeleton, n + 1);
  g_autofree uint32_t *kinds = tessera_new_nones (n);
  Search search = { .blocks = blocks,
                    .skeletons = skeletons,
                    .n = n,
                    .n_skipped = n_all - n,
                    .kinds = kinds,
                    .out = laws };

  for (uint32_t i = 0; i < n; i++)
    tessera_skeleton_init (&skeletons[i], trace, blocks, structure, step_of (&search, i));
  find_kinds (&search);
  for (uint32_t k = 0; k < laws->n_kinds; k++)
    find_laws (&search, &laws->kinds[k]);
  for (uint32_t i = 0; i < n; i++)
    tessera_skeleton_clear (&skeletons[i]);
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
  for (uint32_t k = 0; k < laws->n_kinds; k++)
    kind_clear (&laws->kinds[k]);
  g_free (laws->kinds);
  tessera_step_parts_clear (&laws->parts);
  g_free (laws);
}

const TesseraKind *
tessera_laws_main (const TesseraLaws *laws)
{
  for (uint32_t k = 0; k < laws->n_kinds; k++)
    if (laws->kinds[k].laws.varies)
      return &laws->kinds[k];
  return NULL;
}
