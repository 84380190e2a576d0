/*
 * A kind compared once more, by sizes: see refine.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/kind/refine.h"

#include <stdlib.h>
#include <string.h>

#include "planner/laws/kind/merge.h"
#include "planner/laws/kind/vectors.h"

typedef struct
{
  const TesseraKind *kind;
  const TesseraBlocks *blocks;
  const TesseraFitSteps *steps;
  TesseraSizeLaw *laws;   /* [n_slots]: those of the typical steps where all have none */
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

/* Slots of equal sizes share a law. */
static TesseraStatus
fit_slots (Refine *refine)
{
  TesseraFitTerms *terms = NULL;
  TesseraVectors vectors;
  TesseraSizeLaw *laws = NULL;
  TesseraStatus status = tessera_vectors_init (&vectors, refine->kind, refine->blocks);

  if (status != TESSERA_OK)
    return status;
  status = tessera_fit_terms_new (refine->steps, &terms);
  laws = calloc ((size_t) vectors.n_vectors + 1, sizeof *laws);
  if (!laws)
    status = TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < vectors.n_vectors && status == TESSERA_OK; i++)
    fit_sizes (refine, terms, tessera_vector (&vectors, i), &laws[i]);
  for (uint32_t i = 0; i < refine->kind->n_slots && status == TESSERA_OK; i++)
    refine->laws[i] = laws[vectors.of_slot[i]];
  tessera_vectors_clear (&vectors);
  free (laws);
  free (terms);
  return status;
}

/* Each block whose size its slot's law gives. */
static void
see_blocks (Refine *refine)
{
  const TesseraKind *kind = refine->kind;

  for (uint32_t i = 0; i < kind->n_slots; i++)
    for (uint32_t k = 0; k < kind->n_steps; k++)
      {
        uint32_t block = tessera_kind_block (kind, i, k);
        uint64_t bytes;

        if (block != TESSERA_NONE && refine->laws[i].kind != TESSERA_SIZE_BOUNDED &&
            tessera_size_law_evaluate (&refine->laws[i], &refine->steps->parameters[k],
                                       &bytes) &&
            bytes == refine->blocks->blocks[block].size_bytes)
          refine->law_of_block[block] = i;
      }
}

/* All steps merged anew, in the same order. *out_kind has no slots if one no longer
 * joins.
 */
static TesseraStatus
merge_all (const Refine *refine, TesseraKind *out_kind)
{
  const TesseraKind *kind = refine->kind;
  const TesseraMergeSizes sizes = { .laws = refine->laws,
                                    .law_of_block = refine->law_of_block,
                                    .parameters = refine->steps->parameters };
  TesseraMerge merge;
  TesseraStatus status = tessera_merge_init (&merge, kind->n_steps);
  bool has_joined = true;

  merge.sizes = &sizes;
  merge.are_parts = refine->are_parts;
  for (uint32_t k = 0; k < kind->n_steps && status == TESSERA_OK && has_joined; k++)
    status = tessera_merge_step (&merge, &refine->skeletons[k], k, refine->blocks,
                                 &has_joined);
  if (status == TESSERA_OK && has_joined)
    status = tessera_merge_finish (&merge, refine->blocks, out_kind);
  tessera_merge_clear (&merge);
  return status;
}

/* Takes what the two have in common over to the new one. */
static void
replace_kind (TesseraKind *kind, TesseraKind *by)
{
  by->steps = kind->steps;
  by->hashes = kind->hashes;
  kind->steps = NULL;
  kind->hashes = NULL;
  tessera_kind_clear (kind);
  *kind = *by;
}

/* Keeps the new kind if fewer bytes are without a law. */
static TesseraStatus
adopt (const Refine *refine,
       TesseraKind *kind,
       TesseraKindLaws *laws,
       TesseraKind *better)
{
  TesseraKindLaws better_laws;
  TesseraStatus status =
      tessera_kind_laws_init (&better_laws, better, refine->blocks, refine->steps);

  if (status != TESSERA_OK)
    {
      tessera_kind_clear (better);
      return status;
    }
  replace_kind (kind, better);
  tessera_kind_laws_clear (laws);
  *laws = better_laws;
  return TESSERA_OK;
}

TesseraStatus
tessera_kind_refine (TesseraKind *kind,
                     TesseraKindLaws *laws,
                     const TesseraTrace *trace,
                     const TesseraBlocks *blocks,
                     const TesseraStructure *structure,
                     bool are_parts)
{
  TesseraFitSteps steps = laws->steps;
  Refine refine = {
    .kind = kind, .blocks = blocks, .steps = &steps, .are_parts = are_parts
  };
  TesseraKind better = { .n_slots = 0 };
  TesseraStatus status = TESSERA_OK;
  uint32_t n = 0;

  refine.laws = calloc (kind->n_slots + 1, sizeof *refine.laws);
  refine.law_of_block = malloc ((blocks->n_blocks + 1) * sizeof *refine.law_of_block);
  refine.skeletons = calloc (kind->n_steps + 1, sizeof *refine.skeletons);
  if (!refine.laws || !refine.law_of_block || !refine.skeletons)
    status = TESSERA_NO_MEMORY;
  else
    memset (refine.law_of_block, 0xff, blocks->n_blocks * sizeof *refine.law_of_block);
  while (n < kind->n_steps && status == TESSERA_OK)
    {
      status = tessera_skeleton_init (&refine.skeletons[n], trace, blocks, structure,
                                      kind->steps[n]);
      n += status == TESSERA_OK;
    }
  if (status == TESSERA_OK)
    status = fit_slots (&refine);
  if (status == TESSERA_OK)
    {
      see_blocks (&refine);
      status = merge_all (&refine, &better);
    }
  if (status == TESSERA_OK && better.n_slots > 0)
    status = adopt (&refine, kind, laws, &better);
  else
    tessera_kind_clear (&better);
  for (uint32_t i = 0; i < n; i++)
    tessera_skeleton_clear (&refine.skeletons[i]);
  free (refine.laws);
  free (refine.law_of_block);
  free (refine.skeletons);
  return status;
}
