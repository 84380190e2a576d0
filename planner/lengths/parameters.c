/*
 * What varies between the steps of a kind, and every slot's size model.
 *
 * Nobody tells the length or the batch: they are read from the sizes. A size that is
 * proportional to something gives that something up to a factor: the sizes of a slot in
 * each step, divided by their greatest common divisor, are a *direction*. Whatever the slot
 * counts (tokens, images, pairs of tokens), all slots that count the same lie in one. Each
 * direction, and each quotient of two, is tried as the length, each two as batch and
 * length; what gives most slots an exact model wins, one parameter before two. So a length
 * is in the units in which the sizes count it: where all lengths are multiples of 64, it is
 * a 64th.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/lengths/private.h"

#include <stdlib.h>
#include <string.h>

enum
{
  MAX_FACTOR = 64,     /* of a product, over the same without common divisors */
  MAX_DIRECTIONS = 12, /* those that most slots are proportional to */
  MAX_CANDIDATES = 4 * MAX_DIRECTIONS,
  MAX_SCORED = 256,     /* vectors of most slots that candidates are judged by */
  WORTH_A_PARAMETER = 2 /* slots that a batch has to explain beyond those of a length */
};

/* Whole numbers without a common divisor, one for each step. */
typedef struct
{
  uint64_t values[TESSERA_FIT_STEPS];
  uint32_t n_slots; /* proportional to it */
} Direction;

static void
read_sizes (const TesseraKind *kind,
            const TesseraBlocks *blocks,
            uint32_t slot,
            uint64_t *out_sizes)
{
  for (uint32_t k = 0; k < kind->n_steps; k++)
    {
      uint32_t block = tessera_kind_block (kind, slot, k);

      out_sizes[k] =
          block == TESSERA_NONE ? TESSERA_ABSENT : blocks->blocks[block].size_bytes;
    }
}

void
tessera_vectors_init (TesseraVectors *vectors,
                      const TesseraKind *kind,
                      const TesseraBlocks *blocks)
{
  uint32_t n = kind->n_slots;
  size_t n_bytes = kind->n_steps * sizeof *vectors->sizes;
  g_autoptr (GHashTable) known = g_hash_table_new_full (
      g_bytes_hash, g_bytes_equal, (GDestroyNotify) g_bytes_unref, NULL);

  *vectors = (TesseraVectors){ .n_steps = kind->n_steps };
  vectors->sizes = g_malloc (((size_t) n + 1) * n_bytes);
  vectors->n_slots_of = g_new0 (uint32_t, n + 1);
  vectors->of_slot = g_new (uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++)
    {
      uint64_t *sizes = vectors->sizes + (size_t) vectors->n_vectors * kind->n_steps;
      GBytes *key;
      gpointer index;

      read_sizes (kind, blocks, i, sizes);
      key = g_bytes_new (sizes, n_bytes);
      if (g_hash_table_lookup_extended (known, key, NULL, &index))
        g_bytes_unref (key);
      else
        {
          index = GUINT_TO_POINTER (vectors->n_vectors++);
          g_hash_table_insert (known, key, index);
        }
      vectors->of_slot[i] = GPOINTER_TO_UINT (index);
      vectors->n_slots_of[vectors->of_slot[i]]++;
    }
}

void
tessera_vectors_clear (TesseraVectors *vectors)
{
  g_free (vectors->sizes);
  g_free (vectors->n_slots_of);
  g_free (vectors->of_slot);
  memset (vectors, 0, sizeof *vectors);
}

static uint64_t
common_divisor (uint64_t a, uint64_t b)
{
  while (b != 0)
    {
      uint64_t rest = a % b;

      a = b;
      b = rest;
    }
  return a;
}

/* Divides by what all have in common. Returns: false: not a direction, since nothing
 * varies or a step has none. */
static bool
reduce (Direction *direction, uint32_t n_steps)
{
  uint64_t divisor = 0;
  bool is_varied = false;

  for (uint32_t k = 0; k < n_steps; k++)
    {
      if (direction->values[k] == 0 || direction->values[k] > (uint64_t) TESSERA_MAX_TERM)
        return false;
      divisor = common_divisor (divisor, direction->values[k]);
      is_varied = is_varied || direction->values[k] != direction->values[0];
    }
  for (uint32_t k = 0; k < n_steps; k++)
    direction->values[k] /= divisor;
  return is_varied;
}

static bool
is_equal (const Direction *a, const Direction *b, uint32_t n_steps)
{
  return memcmp (a->values, b->values, n_steps * sizeof *a->values) == 0;
}

/* Counts @direction among the @n first of @known. Returns: how many are known then. */
static size_t
count_in (Direction *known, size_t n, const Direction *direction, uint32_t n_steps)
{
  for (size_t i = 0; i < n; i++)
    if (is_equal (&known[i], direction, n_steps))
      {
        known[i].n_slots += direction->n_slots;
        return n;
      }
  known[n] = *direction;
  return n + 1;
}

/* @of / @by as whole numbers, reduced. Returns: false: they would be too large, or no
 * direction. */
static bool
divide (const Direction *of, const Direction *by, uint32_t n_steps, Direction *out)
{
  uint64_t below = 1;

  *out = (Direction){ .n_slots = 0 };
  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint64_t rest = by->values[k] / common_divisor (of->values[k], by->values[k]);

      below = below / common_divisor (below, rest) * rest;
      if (below > UINT32_MAX)
        return false;
    }
  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint64_t divisor = common_divisor (of->values[k], by->values[k]);

      if (of->values[k] > (uint64_t) TESSERA_MAX_TERM / below)
        return false;
      out->values[k] = of->values[k] / divisor * (below / (by->values[k] / divisor));
    }
  return reduce (out, n_steps);
}

/* @a x @b is @product, but for a small factor. A quotient with anything else gives that
 * too, with a factor beyond reason. */
static bool
is_times (const Direction *product,
          const Direction *a,
          const Direction *b,
          uint32_t n_steps)
{
  uint64_t factor = 0;

  for (uint32_t k = 0; k < n_steps; k++)
    {
      uint64_t found;

      if (__builtin_mul_overflow (a->values[k], b->values[k], &found) ||
          found % product->values[k] != 0 ||
          (k > 0 && found / product->values[k] != factor))
        return false;
      factor = found / product->values[k];
    }
  return factor <= MAX_FACTOR;
}

typedef struct
{
  const TesseraVectors *vectors;
  uint32_t n_steps;
  uint32_t scored[MAX_SCORED]; /* vectors that vary */
  size_t n_scored;
  Direction known[MAX_SCORED]; /* most slots first */
  size_t n_known;
  Direction candidates[MAX_CANDIDATES];
  size_t n_candidates;
  TesseraFitTerms *terms; /* of the parameters that are tried */
} Search;

static int
by_slots (const void *a, const void *b)
{
  const Direction *x = a;
  const Direction *y = b;

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
      Direction direction = { .n_slots = vectors->n_slots_of[search->scored[i]] };

      memcpy (direction.values, tessera_vector (vectors, search->scored[i]),
              search->n_steps * sizeof *direction.values);
      if (reduce (&direction, search->n_steps))
        search->n_known =
            count_in (search->known, search->n_known, &direction, search->n_steps);
    }
  qsort (search->known, search->n_known, sizeof *search->known, by_slots);
  search->n_candidates =
      search->n_known < MAX_DIRECTIONS ? search->n_known : MAX_DIRECTIONS;
  memcpy (search->candidates, search->known,
          search->n_candidates * sizeof *search->known);
}

static void
add_quotient (Search *search, const Direction *of, const Direction *by)
{
  Direction quotient;

  if (divide (of, by, search->n_steps, &quotient))
    search->n_candidates =
        count_in (search->candidates, search->n_candidates, &quotient, search->n_steps);
}

/* Batch or length alone may give no size: as quotients of the first, which nearly all
 * sizes are proportional to, and another; where that is the square of a length, its
 * quotient by the first is the length, by which the first is divided then. */
static void
add_quotients (Search *search)
{
  const Direction *first = &search->candidates[0];
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
           const Direction *batch,
           const Direction *length,
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
  return is_times (&search->candidates[0], &search->candidates[batch],
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

/* Takes these (nullable) for the steps' parameters where at least @least slots have a law by
 * them, and more than *@best, or as many and they are plainer. */
static void
try_parameters (const Search *search,
                const Direction *batch,
                const Direction *length,
                uint64_t least,
                uint64_t *best,
                TesseraFitSteps *out_steps)
{
  TesseraFitSteps steps;
  uint64_t n_exact;

  set_steps (search, batch, length, &steps);
  n_exact = score (search, &steps, least);
  if (n_exact < least || (n_exact == *best && !is_plainer (&steps, out_steps)))
    return;
  *best = n_exact;
  *out_steps = steps;
}

static void
choose (const Search *search, bool only_length, TesseraFitSteps *out_steps)
{
  const Direction *all = search->candidates;
  uint64_t best = 0, least;

  set_steps (search, NULL, NULL, out_steps);
  for (size_t i = 0; i < search->n_candidates; i++)
    try_parameters (search, NULL, &all[i], best + 1, &best, out_steps);
  least = best + WORTH_A_PARAMETER;
  for (size_t i = 0; i < search->n_candidates && !only_length; i++)
    for (size_t k = 0; k < search->n_candidates; k++)
      if (k != i && is_product (search, i, k))
        try_parameters (search, &all[i], &all[k], MAX (least, best), &best, out_steps);
}

static void
find_parameters (Search *search,
                 const TesseraFitSteps *steps,
                 bool only_length,
                 TesseraKindLaws *laws)
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
  choose (search, only_length, &laws->steps);
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

/* Slots of one vector share a model. */
static void
fit_all (TesseraKind *kind, const TesseraVectors *vectors, TesseraFitTerms *terms)
{
  TesseraKindLaws *laws = &kind->laws;

  laws->laws = g_new0 (TesseraSizeLaw, vectors->n_vectors + 1);
  laws->n_laws = vectors->n_vectors;
  laws->law_of_slot =
      g_memdup2 (vectors->of_slot, (kind->n_slots + 1) * sizeof (uint32_t));
  tessera_fit_terms_set (terms, &laws->steps);
  for (uint32_t i = 0; i < vectors->n_vectors; i++)
    {
      tessera_fit_law (terms, tessera_vector (vectors, i), &laws->laws[i]);
      laws->n_slots_by_kind[laws->laws[i].kind] += vectors->n_slots_of[i];
    }
  for (uint32_t i = 0; i < kind->n_slots; i++)
    laws->n_slots_once += kind->slots[i].n_seen == 1;
  laws->varies = laws->varies && does_explain (laws);
}

/* Sizes that no model can be computed with. */
static bool
has_giants (const TesseraVectors *vectors)
{
  for (size_t i = 0; i < (size_t) vectors->n_vectors * vectors->n_steps; i++)
    if (vectors->sizes[i] != TESSERA_ABSENT &&
        vectors->sizes[i] > (uint64_t) TESSERA_MAX_TERM)
      return true;
  return false;
}

void
tessera_kind_laws_init (TesseraKind *kind,
                        const TesseraBlocks *blocks,
                        const TesseraFitSteps *steps,
                        bool only_length)
{
  TesseraVectors vectors;
  g_autofree Search *search = g_new0 (Search, 1);
  g_autofree TesseraFitTerms *terms = g_new0 (TesseraFitTerms, 1);

  tessera_vectors_init (&vectors, kind, blocks);
  if (!has_giants (&vectors))
    {
      *search = (Search){ .vectors = &vectors, .n_steps = kind->n_steps, .terms = terms };
      find_parameters (search, steps, only_length, &kind->laws);
      fit_all (kind, &vectors, terms);
    }
  tessera_vectors_clear (&vectors);
}

void
tessera_kind_laws_clear (TesseraKindLaws *laws)
{
  g_free (laws->laws);
  g_free (laws->law_of_slot);
  *laws = (TesseraKindLaws){ 0 };
}
