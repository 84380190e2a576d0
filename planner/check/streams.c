/*
 * The law of streams. See check.h for what it says and sweep.h.
 *
 * Without sharing, one walk over the slots by offset is enough: if the slot that reaches
 * highest so far is of the newcomer's stream, no other stream can still be there, for it
 * would have met that slot before.
 * With sharing, a map of the addresses says who was born there last; it is cut at all
 * offsets and ends that occur, and a birth makes one piece of what it covers, so that all
 * births together touch O(slots) pieces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include "planner/check/marks.h"

#include <inttypes.h>
#include <stdlib.h>

static TesseraStatus
refuse_pair (const TesseraPlan *plan,
             const char *expected,
             size_t first,
             size_t second,
             TesseraError *error)
{
  TesseraSlotText one, other;
  tessera_check_describe (plan, first, &one);
  tessera_check_describe (plan, second, &other);
  return tessera_fail (error, TESSERA_REFUSED, "streams: expected %s, found %s and %s",
                       expected, one.text, other.text);
}

typedef struct
{
  uint64_t offset_bytes;
  uint32_t slot;
} Start;

static int
compare_starts (const void *a, const void *b)
{
  const Start *x = a, *y = b;
  if (x->offset_bytes != y->offset_bytes)
    return x->offset_bytes < y->offset_bytes ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static uint64_t
top_of (const TesseraPlan *plan, uint32_t slot)
{
  return plan->slots[slot].offset_bytes + plan->slots[slot].block_bytes;
}

static TesseraStatus
check_apart (const TesseraPlan *plan, TesseraError *error)
{
  Start *starts = calloc (plan->n_slots + 1, sizeof *starts);
  if (starts == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    starts[i] = (Start){ plan->slots[i].offset_bytes, (uint32_t) i };
  qsort (starts, plan->n_slots, sizeof *starts, compare_starts);
  TesseraStatus status = TESSERA_OK;
  uint32_t highest = TESSERA_NONE;
  for (size_t i = 0; status == TESSERA_OK && i < plan->n_slots; i++)
    {
      uint32_t slot = starts[i].slot;
      bool is_alone = highest == TESSERA_NONE ||
                      plan->slots[highest].stream == plan->slots[slot].stream ||
                      top_of (plan, highest) <= starts[i].offset_bytes;
      if (!is_alone)
        status =
            refuse_pair (plan, "no address shared between streams", highest, slot, error);
      if (highest == TESSERA_NONE || top_of (plan, slot) > top_of (plan, highest))
        highest = slot;
    }
  free (starts);
  return status;
}

static int
compare_numbers (const void *a, const void *b)
{
  const uint64_t *x = a, *y = b;
  return *x < *y ? -1 : *x > *y;
}

/* One number for a pair, so that the listed ones can be sorted and found. */
static uint64_t
pair_number (uint32_t from, uint32_t to)
{
  return (uint64_t) from << 32 | to;
}

/* Who was born last at each address: piece i begins at cuts[i] if it is marked and ends
 * at the next mark. */
typedef struct
{
  const TesseraPlan *plan;
  uint64_t *cuts; /* ascending, distinct */
  size_t n_cuts;
  uint32_t *owners; /* [n_cuts] slot, or TESSERA_NONE */
  TesseraMarks marks;
  uint64_t *listed; /* [n_hand_overs] ascending pair_number() */
} Map;

static void
map_clear (Map *map)
{
  free (map->cuts);
  free (map->owners);
  free (map->listed);
  tessera_marks_clear (&map->marks);
}

static TesseraStatus
map_init (Map *map, const TesseraPlan *plan)
{
  size_t n_ends = plan->n_slots * 2;
  map->plan = plan;
  map->cuts = calloc (n_ends + 1, sizeof *map->cuts);
  map->owners = calloc (n_ends + 1, sizeof *map->owners);
  map->listed = calloc (plan->n_hand_overs + 1, sizeof *map->listed);
  if (map->cuts == NULL || map->owners == NULL || map->listed == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      map->cuts[i * 2] = plan->slots[i].offset_bytes;
      map->cuts[i * 2 + 1] = top_of (plan, (uint32_t) i);
    }
  qsort (map->cuts, n_ends, sizeof *map->cuts, compare_numbers);
  for (size_t i = 0; i < n_ends; i++)
    if (i == 0 || map->cuts[i] != map->cuts[map->n_cuts - 1])
      map->cuts[map->n_cuts++] = map->cuts[i];
  for (size_t i = 0; i < map->n_cuts; i++)
    map->owners[i] = TESSERA_NONE;
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    map->listed[i] =
        pair_number (plan->hand_overs[i].from_slot, plan->hand_overs[i].to_slot);
  qsort (map->listed, plan->n_hand_overs, sizeof *map->listed, compare_numbers);
  if (tessera_marks_init (&map->marks, map->n_cuts + 1) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  tessera_marks_add (&map->marks, 0);
  return TESSERA_OK;
}

static size_t
cut_at (const Map *map, uint64_t bytes)
{
  const uint64_t *cut =
      bsearch (&bytes, map->cuts, map->n_cuts, sizeof *map->cuts, compare_numbers);
  return (size_t) (cut - map->cuts);
}

/* Makes a piece begin at @cut. */
static void
map_split (Map *map, size_t cut)
{
  if (tessera_marks_has (&map->marks, cut))
    return;
  map->owners[cut] = map->owners[tessera_marks_below (&map->marks, cut)];
  tessera_marks_add (&map->marks, cut);
}

static bool
is_listed (const Map *map, uint32_t from, uint32_t to)
{
  uint64_t pair = pair_number (from, to);
  return bsearch (&pair, map->listed, map->plan->n_hand_overs, sizeof pair,
                  compare_numbers) != NULL;
}

/* Slot @to is born: everybody of another stream who was last in its range must be listed
 * as handing over to it; then the range is its own. */
static TesseraStatus
map_give (Map *map, uint32_t to, TesseraError *error)
{
  const TesseraSlot *slots = map->plan->slots;
  size_t begin = cut_at (map, slots[to].offset_bytes);
  size_t end = cut_at (map, top_of (map->plan, to));
  map_split (map, begin);
  map_split (map, end);
  for (size_t cut = begin; cut < end; cut = tessera_marks_above (&map->marks, cut))
    {
      uint32_t from = map->owners[cut];
      if (from != TESSERA_NONE && slots[from].stream != slots[to].stream &&
          !is_listed (map, from, to))
        return refuse_pair (map->plan, "each hand-over between streams to be listed",
                            from, to, error);
      if (cut != begin)
        tessera_marks_remove (&map->marks, cut);
    }
  map->owners[begin] = to;
  return TESSERA_OK;
}

static TesseraStatus
check_hand_overs (const TesseraPlan *plan, TesseraError *error)
{
  Map map = { 0 };
  TesseraStatus status = map_init (&map, plan);
  for (size_t s = 0; s < plan->n_sections; s++)
    {
      const TesseraSection *section = &plan->sections[s];
      int n_times = section->kind == TESSERA_SECTION_REPEATS ? 2 : 1;
      for (int time = 0; time < n_times; time++)
        for (uint32_t i = 0; status == TESSERA_OK && i < section->n_slots; i++)
          status = map_give (&map, section->first_slot + i, error);
    }
  map_clear (&map);
  return status;
}

/* What is listed makes sense, whether it is needed or not. */
static TesseraStatus
check_listed (const TesseraPlan *plan, TesseraError *error)
{
  if (!plan->across_streams && plan->n_hand_overs > 0)
    return tessera_fail (error, TESSERA_REFUSED,
                         "streams: expected no hand-over in a plan that keeps streams "
                         "apart, found %zu",
                         plan->n_hand_overs);
  for (size_t i = 0; i < plan->n_hand_overs; i++)
    {
      const TesseraHandOver *hand_over = &plan->hand_overs[i];
      if (hand_over->from_slot >= plan->n_slots || hand_over->to_slot >= plan->n_slots)
        return tessera_fail (error, TESSERA_REFUSED,
                             "streams: expected a hand-over between two of %zu slots, "
                             "found %" PRIu32 " to %" PRIu32,
                             plan->n_slots, hand_over->from_slot, hand_over->to_slot);
      if (plan->slots[hand_over->from_slot].stream ==
          plan->slots[hand_over->to_slot].stream)
        return refuse_pair (plan, "a hand-over to be between two streams",
                            hand_over->from_slot, hand_over->to_slot, error);
    }
  return TESSERA_OK;
}

TesseraStatus
tessera_check_streams (const TesseraPlan *plan, TesseraError *error)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    if (plan->slots[i].stream >= plan->n_streams)
      {
        TesseraSlotText text;
        tessera_check_describe (plan, i, &text);
        return tessera_fail (error, TESSERA_REFUSED,
                             "streams: expected a stream below %" PRIu32 ", found %s",
                             plan->n_streams, text.text);
      }
  TesseraStatus status = check_listed (plan, error);
  if (status != TESSERA_OK)
    return status;
  return plan->across_streams ? check_hand_overs (plan, error)
                              : check_apart (plan, error);
}
