/*
 * The law of streams. See check.h for what it says and sweep.h.
 *
 * Without sharing, one walk over the slots by offset is enough: if the slot that reaches
 * highest so far is of the newcomer's stream, no other stream can still be there, for it
 * would have met that slot before. With sharing, see hand-overs.c; pools are apart all
 * the same.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/check/sweep.h"

#include <inttypes.h>
#include <stdlib.h>

TesseraStatus
tessera_check_refuse_pair (const TesseraPlan *plan,
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

/* Nobody shares addresses with a private pool: a captured graph uses its memory whenever
 * it is replayed. */
static bool
may_share (const TesseraPlan *plan, const TesseraSlot *a, const TesseraSlot *b)
{
  return a->pool == b->pool && (plan->across_streams || a->stream == b->stream);
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
                      may_share (plan, &plan->slots[highest], &plan->slots[slot]) ||
                      top_of (plan, highest) <= starts[i].offset_bytes;
      if (!is_alone)
        status = tessera_check_refuse_pair (
            plan, "no address shared between streams or private pools", highest, slot,
            error);
      if (highest == TESSERA_NONE || top_of (plan, slot) > top_of (plan, highest))
        highest = slot;
    }
  free (starts);
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
      if (hand_over->event_slot != TESSERA_NONE && hand_over->event_slot >= plan->n_slots)
        return tessera_fail (
            error, TESSERA_REFUSED,
            "streams: expected an event at one of %zu slots, found %" PRIu32,
            plan->n_slots, hand_over->event_slot);
      if (plan->slots[hand_over->from_slot].stream ==
              plan->slots[hand_over->to_slot].stream &&
          !plan->slots[hand_over->from_slot].side_streams)
        return tessera_check_refuse_pair (plan, "a hand-over to be between two streams",
                                          hand_over->from_slot, hand_over->to_slot,
                                          error);
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
  if (status == TESSERA_OK)
    status = check_apart (plan, error);
  if (status != TESSERA_OK || !plan->across_streams)
    return status;
  return tessera_check_hand_overs (plan, error);
}
