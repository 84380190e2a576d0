/*
 * What varies between the steps of a kind: see parameters.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/fit/parameters.h"

#include <stdlib.h>
#include <string.h>

#include "planner/laws/fit/directions.h"
#include "planner/laws/kind/vectors.h"

enum
{
  MAX_DIRECTIONS = 12, /* those that most slots are proportional to */
  MAX_CANDIDATES = 4 * MAX_DIRECTIONS,
  MAX_SCORED = 256,     /* vectors of most slots that candidates are judged by */
  WORTH_A_PARAMETER = 2 /* slots that a batch has to explain beyond those of a length */
};

typedef struct
{
  const TesseraVectors *vectors;
  uint32_t n_steps;
  uint32_t scored[MAX_SCORED]; /* vectors that vary */
  size_t n_scored;
  TesseraDirection known[MAX_SCORED]; /* most slots first */
  size_t n_known;
  TesseraDirection candidates[MAX_CANDIDATES];
  size_t n_candidates;
  TesseraFitTerms *terms; /* of the parameters that are tried */
} Search;

static int
by_slots (const void *a, const void *b)
{
  const TesseraDirection *x = a;
  const TesseraDirection *y = b;

  if (x->n_slots != y->n_slots)
    return x->n_slots > y->n_slots ? -1 : 1;
  return memcmp (x->values, y->values, sizeof x->values);
}

static bool
varies (const TesseraVectors *vectors, uint32_t index)
{
  const uint64_t *sizes = tessera_vector (vectors, index);
  uint64_t seen = TESSERA_ABSENT;

  for (uint32_t k = 0; k < vectors->n_steps; k++)
    if (sizes[k] != TESSERA_ABSENT)
      {
        if (seen != TESSERA_ABSENT && sizes[k] != seen)
          return true;
        seen = sizes[k];
      }
  return false;
}

/* Keeps the vectors that vary, those of most slots. */
static void
choose_scored (Search *search)
{
  const uint32_t *n_slots_of = search->vectors->n_slots_of;

  for (uint32_t i = 0; i < search->vectors->n_vectors; i++)
    {
      size_t at = search->n_scored;

      if (!varies (search->vectors, i))
        continue;
      while (at > 0 && n_slots_of[search->scored[at - 1]] < n_slots_of[i])
        at--;
      if (at == MAX_SCORED)
        continue;
      search->n_scored += search->n_scored < MAX_SCORED;
      memmove (&search->scored[at + 1], &search->scored[at],
               (search->n_scored - at - 1) * sizeof search->scored[0]);
      search->scored[at] = i;
    }
}

/* The directions that most slots lie in. */
static void
find_directions (Search *search)
{
  const TesseraVectors *vectors = search->vectors;

  for (size_t i = 0; i < search->n_scored; i++)
    {
      TesseraDirection direction = { .n_slots = vectors->n_slots_of[search->scored[i]] };

      memcpy (direction.values, tessera_vector (vectors, search->scored[i]),
              search->n_steps * sizeof *direction.values);
      if (tessera_direction_reduce (&direction, search->n_steps))
        search->n_known = tessera_direction_count_in (search->known, search->n_known,
                                                      &direction, search->n_steps);
    }
  qsort (search->known, search->n_known, sizeof *search->known, by_slots);
  search->n_candidates =
      search->n_known < MAX_DIRECTIONS ? search->n_known : MAX_DIRECTIONS;
  memcpy (search->candidates, search->known,
          search->n_candidates * sizeof *search->known);
}

static void
add_quotient (Search *search, const TesseraDirection *of, const TesseraDirection *by)
{
  TesseraDirection quotient;

  if (tessera_direction_divide (of, by, search->n_steps, &quotient))
    search->n_candidates = tessera_direction_count_in (
        search->candidates, search->n_candidates, &quotient, search->n_steps);
}

/* Batch or length alone may give no size: as quotients of the first, which nearly all
 * sizes are proportional to, and another; where that is the square of a length, its
 * quotient by the first is the length, by which the first is divided then. */
static void
add_quotients (Search *search)
{
  const TesseraDirection *first = &search->candidates[0];
  size_t n = search->n_candidates;

  for (size_t i = 1; i < n; i++)
    {
      size_t before = search->n_candidates;

      add_quotient (search, &search->candidates[i], first);
      if (search->n_candidates > before)
        add_quotient (search, first, &search->candidates[before]);
      add_quotient (search, first, &search->candidates[i]);
    }
}

static void
set_steps (const Search *search,
           const TesseraDirection *batch,
           const TesseraDirection *length,
           TesseraFitSteps *out_steps)
{
  memset (out_steps, 0, sizeof *out_steps);
  out_steps->n_steps = search->n_steps;
  out_steps->has_batch = batch != NULL;
  for (uint32_t k = 0; k < search->n_steps; k++)
    out_steps->parameters[k] = (TesseraParameters){
      .batch = batch ? batch->values[k] : 1,
      .length = length ? length->values[k] : 1,
    };
}

static uint64_t
count_varying (const Search *search)
{
  uint64_t n_varying = 0;

  for (size_t i = 0; i < search->n_scored; i++)
    n_varying += search->vectors->n_slots_of[search->scored[i]];
  return n_varying;
}

/* Slots that have a law by these parameters; 0 where they are fewer than @least, which is
 * known as soon as too many have none. */
static uint64_t
score (const Search *search, const TesseraFitSteps *steps, uint64_t least)
{
  uint64_t n_exact = count_varying (search);

  if (n_exact < least)
    return 0;
  tessera_fit_terms_set (search->terms, steps);
  for (size_t i = 0; i < search->n_scored; i++)
    {
      uint32_t vector = search->scored[i];
      TesseraSizeLaw law;

      tessera_fit_law (search->terms, tessera_vector (search->vectors, vector), &law);
      if (law.kind != TESSERA_SIZE_BOUNDED)
        continue;
      n_exact -= search->vectors->n_slots_of[vector];
      if (n_exact < least)
        return 0;
    }
  return n_exact;
}

/* Batch times length is what most slots are proportional to. Two that are not multiplied
 * anywhere are two lengths (of micro-batches, or one length and its square), no batch. */
static bool
is_product (const Search *search, size_t batch, size_t length)
{
  return tessera_direction_is_product (&search->candidates[0], &search->candidates[batch],
                                       &search->candidates[length], search->n_steps);
}

/* Of two that explain as much the length is the larger (batch and length exchanged, where
 * nothing is square), then the batch the smaller (both multiplied in its place). */
static bool
is_plainer (const TesseraFitSteps *steps, const TesseraFitSteps *than)
{
  const TesseraParameters *a = &steps->parameters[0], *b = &than->parameters[0];

  return than->has_batch &&
         (a->length > b->length || (a->length == b->length && a->batch < b->batch));
}

static void
choose (const Search *search, TesseraFitSteps *out_steps)
{
  TesseraFitSteps steps;
  uint64_t best = 0, single;

  set_steps (search, NULL, NULL, out_steps);
  for (size_t i = 0; i < search->n_candidates; i++)
    {
      uint64_t n_exact;

      set_steps (search, NULL, &search->candidates[i], &steps);
      n_exact = score (search, &steps, best + 1);
      if (n_exact > best)
        {
          best = n_exact;
          *out_steps = steps;
        }
    }
  single = best;
  for (size_t i = 0; i < search->n_candidates; i++)
    for (size_t k = 0; k < search->n_candidates; k++)
      {
        uint64_t n_exact, wanted = single + WORTH_A_PARAMETER;

        if (k == i || !is_product (search, i, k))
          continue;
        set_steps (search, &search->candidates[i], &search->candidates[k], &steps);
        if (wanted < best)
          wanted = best;
        n_exact = score (search, &steps, wanted);
        if (n_exact >= wanted &&
            (n_exact > best || (n_exact == best && is_plainer (&steps, out_steps))))
          {
            best = n_exact;
            *out_steps = steps;
          }
      }
}

static void
find_parameters (Search *search, const TesseraFitSteps *steps, TesseraKindLaws *laws)
{
  laws->varies = true;
  if (steps)
    {
      laws->steps = *steps;
      return;
    }
  choose_scored (search);
  find_directions (search);
  add_quotients (search);
  choose (search, &laws->steps);
  laws->varies = search->n_candidates > 0;
}

/* Whether of the slots that vary at least half have a law: else what varies is something
 * else, such as how many tokens each expert gets. */
static bool
does_explain (const TesseraKindLaws *laws)
{
  const uint32_t *n = laws->n_slots_by_kind;

  return (uint64_t) n[TESSERA_SIZE_AFFINE] + n[TESSERA_SIZE_QUADRATIC] +
             n[TESSERA_SIZE_ROUNDED] + laws->n_slots_once >=
         n[TESSERA_SIZE_BOUNDED];
}

/* Slots of one vector share a law. */
static TesseraStatus
fit_all (TesseraKindLaws *laws,
         const TesseraVectors *vectors,
         const TesseraKind *kind,
         TesseraFitTerms *terms)
{
  uint32_t n_slots = kind->n_slots;

  laws->laws = calloc (vectors->n_vectors + 1, sizeof *laws->laws);
  laws->law_of_slot = malloc ((n_slots + 1) * sizeof *laws->law_of_slot);
  if (!laws->laws || !laws->law_of_slot)
    return TESSERA_NO_MEMORY;
  laws->n_laws = vectors->n_vectors;
  tessera_fit_terms_set (terms, &laws->steps);
  for (uint32_t i = 0; i < vectors->n_vectors; i++)
    {
      tessera_fit_law (terms, tessera_vector (vectors, i), &laws->laws[i]);
      laws->n_slots_by_kind[laws->laws[i].kind] += vectors->n_slots_of[i];
    }
  memcpy (laws->law_of_slot, vectors->of_slot, n_slots * sizeof *laws->law_of_slot);
  for (uint32_t i = 0; i < n_slots; i++)
    laws->n_slots_once += kind->slots[i].n_seen == 1;
  laws->varies = laws->varies && does_explain (laws);
  return TESSERA_OK;
}

static bool
has_giants (const TesseraVectors *vectors)
{
  for (size_t i = 0; i < (size_t) vectors->n_vectors * vectors->n_steps; i++)
    if (vectors->sizes[i] != TESSERA_ABSENT &&
        vectors->sizes[i] > (uint64_t) TESSERA_MAX_TERM)
      return true;
  return false;
}

TesseraStatus
tessera_kind_laws_init (TesseraKindLaws *laws,
                        const TesseraKind *kind,
                        const TesseraBlocks *blocks,
                        const TesseraFitSteps *steps)
{
  TesseraVectors vectors;
  Search *search = calloc (1, sizeof *search);
  TesseraFitTerms *terms = calloc (1, sizeof *terms);
  TesseraStatus status = tessera_vectors_init (&vectors, kind, blocks);

  memset (laws, 0, sizeof *laws);
  if (!search || !terms)
    status = TESSERA_NO_MEMORY;
  if (status == TESSERA_OK && has_giants (&vectors))
    status = TESSERA_REFUSED;
  if (status == TESSERA_OK)
    {
      *search = (Search){ .vectors = &vectors, .n_steps = kind->n_steps, .terms = terms };
      find_parameters (search, steps, laws);
    }
  if (status == TESSERA_OK)
    status = fit_all (laws, &vectors, kind, terms);
  tessera_vectors_clear (&vectors);
  free (search);
  free (terms);
  if (status != TESSERA_OK)
    tessera_kind_laws_clear (laws);
  return status;
}

void
tessera_kind_laws_clear (TesseraKindLaws *laws)
{
  free (laws->laws);
  free (laws->law_of_slot);
  memset (laws, 0, sizeof *laws);
}
