/*
 * The sweep over the positions of a plan: overlap and bound. See sweep.h.
 *
 * Idea: a slot has one life, or two when it wraps. Births and deaths are sorted by
 * position, deaths first. The lives that go on are kept in the order of their offsets; as
 * long as no two of them overlap, a newcomer can only overlap with its neighbours there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include "db/sort.h"
#include "planner/check/marks.h"

#include <inttypes.h>
#include <stdlib.h>

/* The key is its position * 2 + (1 for a birth), the value slot * 2 + (1 for what is left
 * of the step before). */
typedef TesseraKeyed Change;

/* A life by its offset. */
typedef TesseraKeyed Place;

/* All births and deaths, sorted. Up to 4 a slot; the caller frees *out_changes. */
static TesseraStatus
list_changes (const TesseraPlan *plan, Change **out_changes, size_t *out_n_changes)
{
  Change *changes = calloc (plan->n_slots * 4 + 1, sizeof *changes);
  size_t n = 0;
  *out_changes = changes;
  *out_n_changes = 0;
  if (changes == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];
      uint32_t life = (uint32_t) i * 2;
      changes[n++] = (Change){ (uint64_t) slot->born * 2 + 1, life };
      changes[n++] = (Change){ (uint64_t) slot->died * 2, life };
      if (!slot->wraps)
        continue;
      uint64_t begin = plan->sections[slot->section].begin;
      uint32_t end = slot->died_next < slot->born ? slot->died_next : slot->born;
      if (end == begin)
        continue;
      changes[n++] = (Change){ begin * 2 + 1, life + 1 };
      changes[n++] = (Change){ (uint64_t) end * 2, life + 1 };
    }
  if (tessera_sort_keyed (changes, n) != TESSERA_OK)
    {
      free (changes);
      *out_changes = NULL;
      return TESSERA_NO_MEMORY;
    }
  *out_n_changes = n;
  return TESSERA_OK;
}

/* All lives by offset, and the other way round: the rank of each life. */
typedef struct
{
  Place *by_rank;
  uint64_t *rank_of_life;
} Ranks;

static TesseraStatus
ranks_init (Ranks *ranks, const TesseraPlan *plan)
{
  size_t n_lives = plan->n_slots * 2;
  ranks->by_rank = calloc (n_lives + 1, sizeof *ranks->by_rank);
  ranks->rank_of_life = calloc (n_lives + 1, sizeof *ranks->rank_of_life);
  if (ranks->by_rank == NULL || ranks->rank_of_life == NULL)
    return TESSERA_NO_MEMORY;
  for (size_t life = 0; life < n_lives; life++)
    ranks->by_rank[life] = (Place){ plan->slots[life / 2].offset_bytes, (uint32_t) life };
  if (tessera_sort_keyed (ranks->by_rank, n_lives) != TESSERA_OK)
    return TESSERA_NO_MEMORY;
  for (size_t rank = 0; rank < n_lives; rank++)
    ranks->rank_of_life[ranks->by_rank[rank].value] = rank;
  return TESSERA_OK;
}

static void
ranks_clear (Ranks *ranks)
{
  free (ranks->by_rank);
  free (ranks->rank_of_life);
}

static bool
slots_share_addresses (const TesseraSlot *low, const TesseraSlot *high)
{
  return low->offset_bytes + low->block_bytes > high->offset_bytes;
}

static TesseraStatus
refuse_overlap (const TesseraPlan *plan,
                size_t first,
                size_t second,
                uint64_t position,
                TesseraError *error)
{
  TesseraSlotText one, other;
  tessera_check_describe (plan, first, &one);
  tessera_check_describe (plan, second, &other);
  return tessera_fail (error, TESSERA_REFUSED,
                       "overlap: expected no shared address at position %" PRIu64
                       ", found %s and %s",
                       position, one.text, other.text);
}

/* Puts a life among those that go on. */
static TesseraStatus
be_born (const TesseraPlan *plan,
         const Ranks *ranks,
         TesseraMarks *alive,
         const Change *change,
         TesseraError *error)
{
  uint64_t rank = ranks->rank_of_life[change->value];
  uint32_t slot_index = change->value / 2;
  const TesseraSlot *slot = &plan->slots[slot_index];
  uint64_t below = tessera_marks_below (alive, rank);
  uint64_t above = tessera_marks_above (alive, rank);
  if (below != TESSERA_NO_MARK)
    {
      uint32_t other = ranks->by_rank[below].value / 2;
      if (slots_share_addresses (&plan->slots[other], slot))
        return refuse_overlap (plan, other, slot_index, change->key / 2, error);
    }
  if (above != TESSERA_NO_MARK)
    {
      uint32_t other = ranks->by_rank[above].value / 2;
      if (slots_share_addresses (slot, &plan->slots[other]))
        return refuse_overlap (plan, slot_index, other, change->key / 2, error);
    }
  tessera_marks_add (alive, rank);
  return TESSERA_OK;
}

TesseraStatus
tessera_check_overlap (const TesseraPlan *plan, TesseraError *error)
{
  Change *changes = NULL;
  size_t n_changes;
  Ranks ranks = { 0 };
  TesseraMarks alive = { 0 };
  TesseraStatus status = list_changes (plan, &changes, &n_changes);
  if (status == TESSERA_OK)
    status = ranks_init (&ranks, plan);
  if (status == TESSERA_OK)
    status = tessera_marks_init (&alive, plan->n_slots * 2);
  for (size_t i = 0; status == TESSERA_OK && i < n_changes; i++)
    {
      if (changes[i].key & 1)
        status = be_born (plan, &ranks, &alive, &changes[i], error);
      else
        tessera_marks_remove (&alive, ranks.rank_of_life[changes[i].value]);
    }
  tessera_marks_clear (&alive);
  ranks_clear (&ranks);
  free (changes);
  return status;
}

TesseraStatus
tessera_check_bound (const TesseraPlan *plan, TesseraError *error)
{
  Change *changes;
  size_t n_changes;
  TesseraStatus status = list_changes (plan, &changes, &n_changes);
  if (status != TESSERA_OK)
    return status;
  /* Nothing overlaps inside the pool: the load never exceeds height_bytes. */
  uint64_t load = 0, largest = 0, position = 0;
  for (size_t i = 0; i < n_changes; i++)
    {
      uint64_t block_bytes = plan->slots[changes[i].value / 2].block_bytes;
      load = changes[i].key & 1 ? load + block_bytes : load - block_bytes;
      if (load > largest)
        {
          largest = load;
          position = changes[i].key / 2;
        }
    }
  free (changes);
  if (largest == plan->bound_bytes)
    return TESSERA_OK;
  return tessera_fail (error, TESSERA_REFUSED,
                       "bound: expected %" PRIu64 " bytes, the load at position %" PRIu64
                       ", found %" PRIu64,
                       largest, position, plan->bound_bytes);
}
