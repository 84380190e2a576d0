/*
 * Steps that take two layouts in turn: see carries.h.
 *
 * Example: outputs = model (batch) keeps what one step made until the next has made the
 * same, and so does an evaluation in between. One place for each is not enough, and two
 * that are reserved all the time leave one idle nearly always. So each kind gets two
 * layouts. What a step of the first leaves lies in one place, what a step of the second
 * leaves in another, and a step finds only what the other layout left: the place of its
 * own is free until it makes its own.
 *
 * The turn changes with each unit that makes what outlives the birth of its successor.
 * All that such units carry on and that ends in the next of them *alternates*. A unit
 * that makes none passes the turn on as it found it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan/carries.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

enum
{
  FEW_OF_SHAPE = 4 /* of one size in a step; of more one in so many may be to spare */
};

/* A block that is smaller wins nothing that anyone sees. */
#define LEAST_BYTES (UINT64_C (1) << 20)

typedef struct
{
  const TesseraUnits *units;
  TesseraCarries carries; /* their requests only */
  GPtrArray *carried;     /* TesseraKindRequest, by shape */
  GPtrArray *candidates;  /* of these: large, and one of those that outlive a successor */
  bool makes[TESSERA_MAX_KINDS];
} Search;

static int
compare_shapes (const void *a, const void *b)
{
  const TesseraKindRequest *const *x = a, *const *y = b;

  return tessera_carries_compare (*x, *y);
}

/* Whoever alternates. */
static bool
is_of_shape (const TesseraKindRequest *x, const TesseraKindRequest *y)
{
  return x->block_bytes == y->block_bytes && x->stream == y->stream && x->pool == y->pool;
}

/* Where it was never seen: as its likes that were. 0: none was. */
static uint32_t
end_in (const Search *search, const TesseraKindRequest *request, uint32_t kind)
{
  uint32_t end = request->ends[kind];

  for (guint i = 0; end == 0 && i < search->candidates->len; i++)
    {
      const TesseraKindRequest *other = search->candidates->pdata[i];

      if (other->alternates && is_of_shape (other, request))
        end = other->ends[kind];
    }
  return end;
}

/* Whether its block has gone when a unit is over that makes the next of any. */
static bool
is_cleared (const Search *search, const TesseraKindRequest *request)
{
  for (uint32_t k = 0; k < search->units->n_kinds; k++)
    {
      uint32_t end = search->makes[k] ? end_in (search, request, k) : 0;

      if (search->makes[k] && (end == 0 || end >= search->units->kinds[k].end))
        return false;
    }
  return true;
}

static bool
are_cleared (Search *search)
{
  for (uint32_t k = 0; k < search->units->n_kinds; k++)
    search->makes[k] = false;
  for (guint i = 0; i < search->candidates->len; i++)
    {
      const TesseraKindRequest *request = search->candidates->pdata[i];
      search->makes[request->kind] = search->makes[request->kind] || request->alternates;
    }
  for (guint i = 0; i < search->candidates->len; i++)
    {
      const TesseraKindRequest *request = search->candidates->pdata[i];

      if (request->alternates && !is_cleared (search, request))
        return false;
    }
  return true;
}

/* Those that make most bytes first. */
static int
compare_candidates (const void *a, const void *b, void *user)
{
  const TesseraUnits *units = user;
  const TesseraKindRequest *const *x = a, *const *y = b;
  uint64_t x_bytes = (*x)->block_bytes * units->kinds[(*x)->kind].n_units;
  uint64_t y_bytes = (*y)->block_bytes * units->kinds[(*y)->kind].n_units;

  if (x_bytes != y_bytes)
    return x_bytes > y_bytes ? -1 : 1;
  return (*x > *y) - (*x < *y);
}

/* Requests of one shape. */
typedef struct
{
  TesseraKindRequest **requests;
  guint n;
  uint32_t first_born[TESSERA_MAX_KINDS]; /* UINT32_MAX: none in that kind */
  uint32_t counts[TESSERA_MAX_KINDS];
} Shape;

static Shape
make_shape (const Search *search, guint begin)
{
  Shape shape = { .requests = (TesseraKindRequest **) search->carried->pdata + begin };

  memset (shape.first_born, 0xff, sizeof shape.first_born);
  for (; begin + shape.n < search->carried->len &&
         is_of_shape (shape.requests[0], shape.requests[shape.n]);
       shape.n++)
    {
      const TesseraKindRequest *request = shape.requests[shape.n];
      uint32_t kind = request->kind;

      shape.first_born[kind] = MIN (request->born, shape.first_born[kind]);
      shape.counts[kind]++;
    }
  return shape;
}

/* It ends in a step that has made the next by then. */
static bool
outlives_successor (const Search *search,
                    const Shape *shape,
                    const TesseraKindRequest *request)
{
  for (uint32_t k = 0; k < search->units->n_kinds; k++)
    if (request->ends[k] > shape->first_born[k] &&
        request->ends[k] < search->units->kinds[k].end)
      return true;
  return false;
}

/* How many more of them are alive at once in a step of the kind than the step makes. */
static guint
count_surplus (const Shape *shape, uint32_t kind)
{
  guint n = 0, ended = 0, most = 0;
  g_autofree uint32_t *births = g_new (uint32_t, shape->counts[kind] + 1);
  g_autofree uint32_t *ends = g_new (uint32_t, shape->counts[kind] + 1);

  for (guint i = 0; i < shape->n; i++)
    if (shape->requests[i]->kind == kind)
      {
        births[n] = shape->requests[i]->born;
        ends[n++] = shape->requests[i]->ends[kind];
      }
  qsort (births, n, sizeof *births, tessera_compare_positions);
  qsort (ends, n, sizeof *ends, tessera_compare_positions);
  for (guint born = 1; born <= n; born++)
    {
      while (ended < n && ends[ended] <= births[born - 1])
        ended++;
      most = MAX (most, born > ended ? born - ended : 0);
    }
  return most;
}

/* Many that go one by one, as what an optimizer makes anew for each weight, are less as a
 * rotation: of that few places are to spare. */
static bool
goes_one_by_one (const Shape *shape)
{
  for (uint32_t k = 0; k < TESSERA_MAX_KINDS; k++)
    if (shape->counts[k] > FEW_OF_SHAPE)
      {
        guint surplus = count_surplus (shape, k);

        if (surplus > 0 && surplus <= shape->counts[k] / FEW_OF_SHAPE)
          return true;
      }
  return false;
}

/* Lists what is carried, and which of that may alternate. */
static void
list_carried (Search *search)
{
  for (uint32_t i = 0; i < search->carries.n_requests; i++)
    if (search->carries.requests[i].is_carried &&
        !search->carries.requests[i].is_left_out)
      g_ptr_array_add (search->carried, &search->carries.requests[i]);
  g_ptr_array_sort (search->carried, compare_shapes);
  for (guint i = 0; i < search->carried->len;)
    {
      Shape shape = make_shape (search, i);
      bool is_rotation = goes_one_by_one (&shape);

      for (guint k = 0; k < shape.n && !is_rotation; k++)
        if (shape.requests[k]->block_bytes >= LEAST_BYTES &&
            outlives_successor (search, &shape, shape.requests[k]))
          g_ptr_array_add (search->candidates, shape.requests[k]);
      if (is_rotation)
        g_ptr_array_remove_range (search->carried, i, shape.n);
      else
        i += shape.n;
    }
  g_ptr_array_sort_with_data (search->candidates, compare_candidates,
                              (void *) search->units);
}

/* Takes one after the other whose blocks, and those of the ones taken before, get along
 * with it. Returns: their bytes. */
static uint64_t
choose (Search *search)
{
  uint64_t bytes = 0;

  for (guint i = 0; i < search->candidates->len; i++)
    {
      TesseraKindRequest *request = search->candidates->pdata[i];

      request->alternates = true;
      request->alternates = are_cleared (search);
      bytes += request->alternates ? request->block_bytes : 0;
    }
  (void) are_cleared (search); /* who makes, as chosen */
  return bytes;
}

/* Where some of a shape take turns, one that alternates and is born where its section begins
 * would be taken for one of them: it has no interval from the begin to its birth. */
static void
leave_first (const Search *search, const Shape *shape)
{
  for (guint i = 0; i < shape->n; i++)
    if (shape->requests[i]->born == search->units->kinds[shape->requests[i]->kind].begin)
      shape->requests[i]->alternates = TESSERA_ALTERNATE_NOT;
}

/* All else that ends in the next unit that changes the turn: then each layout is free to
 * place its own. */
static void
choose_rest (Search *search)
{
  for (guint i = 0; i < search->carried->len;)
    {
      const Shape shape = make_shape (search, i);
      bool all = true;

      for (guint k = 0; k < shape.n; k++)
        {
          TesseraKindRequest *request = shape.requests[k];
          request->alternates = request->alternates || (search->makes[request->kind] &&
                                                        is_cleared (search, request));
          all = all && request->alternates;
        }
      if (!all)
        leave_first (search, &shape);
      i += shape.n;
    }
}

/* Does the unit itself make any? One that asks for less than its kind need not. */
static bool
unit_makes (const TesseraUnits *units, const TesseraUnit *unit)
{
  const uint8_t *alternates = units->kinds[unit->kind].alternates;

  for (uint32_t e = unit->begin; e < unit->end; e++)
    if (tessera_units_plan (units, e) && alternates[units->place_of[e - units->begin]])
      return true;
  return false;
}

/* The first unit of the kind that makes all of its requests, else the one that stood for
 * it before. */
static uint32_t
find_unit (const TesseraUnits *units, uint32_t kind)
{
  const TesseraStepKind *of = &units->kinds[kind];

  for (uint32_t u = 0; u < units->n_units; u++)
    if (units->units[u].kind == kind && units->units[u].n_requests == of->n_requests)
      return u;
  return of->unit;
}

/* Doubles the kinds: units that come in the second turn are of the second half. */
static void
double_kinds (TesseraUnits *units)
{
  uint32_t n = units->n_kinds, turn = 0;

  units->n_alternating = n;
  units->n_kinds = 2 * n;
  for (uint32_t k = 0; k < n; k++)
    {
      TesseraStepKind *kind = &units->kinds[k], *second = &units->kinds[n + k];

      *second = *kind;
      second->requests = NULL;
      second->is_kept =
          kind->is_kept ? g_memdup2 (kind->is_kept, kind->n_requests + 1u) : NULL;
      second->alternates = g_memdup2 (kind->alternates, kind->n_requests + 1u);
      kind->n_units = second->n_units = 0;
    }
  for (uint32_t u = 0; u < units->n_units; u++)
    {
      TesseraUnit *unit = &units->units[u];

      if (unit->kind == TESSERA_NONE)
        continue;
      bool makes = unit_makes (units, unit);
      unit->kind += turn * n;
      units->kinds[unit->kind].n_units++;
      turn ^= makes;
    }
  for (uint32_t k = 0; k < units->n_kinds; k++)
    units->kinds[k].unit = find_unit (units, k);
  tessera_units_lay_out (units);
}

/* What was chosen, by kind and request. */
static void
write_alternates (const Search *search, TesseraUnits *units)
{
  for (uint32_t k = 0; k < units->n_kinds; k++)
    {
      const TesseraKindRequest *requests =
          &search->carries.requests[search->carries.first_request[k]];

      units->kinds[k].alternates = g_new0 (uint8_t, units->kinds[k].n_requests + 1u);
      for (uint32_t r = 0; r < units->kinds[k].n_requests; r++)
        units->kinds[k].alternates[r] = requests[r].alternates;
    }
}

bool
tessera_carries_alternate (TesseraUnits *units,
                           const uint32_t *left_out,
                           uint64_t least_bytes)
{
  g_autoptr (GPtrArray) carried = g_ptr_array_new ();
  g_autoptr (GPtrArray) candidates = g_ptr_array_new ();
  Search search = { .units = units, .carried = carried, .candidates = candidates };
  bool is_worth;

  /* Position 0 is that of no end. */
  if (2 * units->n_kinds > TESSERA_MAX_KINDS || units->n_alternating > 0 ||
      units->begin == 0)
    return false;
  tessera_carries_list (&search.carries, units, left_out);
  list_carried (&search);
  is_worth = choose (&search) >= least_bytes;
  if (is_worth)
    {
      choose_rest (&search);
      write_alternates (&search, units);
      double_kinds (units);
    }
  tessera_carries_clear (&search.carries);
  return is_worth;
}
