/*
 * Plans out of bytes: see plan.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/follow/plan.h"
#include "tests/ok.h"

#include <glib.h>
#include <string.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

enum
{
  MOST_SECTIONS = 5,
  MOST_SLOTS = 24, /* of a section */
  MOST_ROOMS = 8,
  MOST_REGIONS = 4,
  MOST_UNPLANNED = 8,
  N_STREAMS = 3
};

uint64_t
fuzz_size (Bytes *bytes)
{
  static const uint64_t sizes[] = { 1,       512,           513,     8 * KIB,  100 * KIB,
                                    MIB - 1, MIB,           MIB + 1, 2 * MIB,  3 * MIB,
                                    5 * MIB, 8 * MIB + 512, 900,     300 * KIB };

  return sizes[bytes_below (bytes, G_N_ELEMENTS (sizes))];
}

static uint64_t
round_up (uint64_t n_bytes, uint64_t step)
{
  return (n_bytes + step - 1) / step * step;
}

/* Its life ends in the section, mostly; or it wraps, and may take turns. */
static void
live (TesseraSlot *slot,
      const TesseraSection *section,
      uint32_t n_positions,
      Bytes *bytes)
{
  uint32_t how = bytes_take (bytes);

  slot->died = slot->born + 1 + (how & 15);
  if (how >= 240)
    slot->died = n_positions;
  else if (how >= 200 && section->kind == TESSERA_SECTION_REPEATS)
    {
      slot->wraps = 1;
      slot->died = section->end;
      slot->died_next =
          section->begin + 1 + bytes_below (bytes, section->end - section->begin);
      if (section->alternate != TESSERA_ALTERNATE_NOT && how >= 220)
        slot->died_next = section->begin;
    }
  slot->died = MIN (slot->died, n_positions);
}

static void
add_slots (TesseraPlan *plan, uint32_t section_index, bool is_one_stream, Bytes *bytes)
{
  const TesseraSection *section = &plan->sections[section_index];
  bool repeats = section->kind == TESSERA_SECTION_REPEATS;

  for (uint32_t i = 0; i < section->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[plan->n_slots++];
      uint32_t like = bytes_take (bytes);

      *slot = (TesseraSlot){ .size_bytes = fuzz_size (bytes),
                             .born = section->begin + 2 * i,
                             .section = section_index,
                             .phase = i * 3 / section->n_slots,
                             .block = i,
                             .group = TESSERA_NONE,
                             .stream = (uint16_t) (like % 8 < N_STREAMS ? like % 8 : 0),
                             .pool = like >= 250 };
      if (is_one_stream)
        slot->stream = slot->pool = 0;
      if (repeats && i + 2 >= section->n_slots && like >= 200)
        slot->ordinal = TESSERA_NONE;
      /* Layers repeat. */
      if (i >= 4 && like % 16 < 6)
        {
          slot->size_bytes = slot[-4].size_bytes;
          slot->stream = slot[-4].stream;
        }
      slot->block_bytes = round_up (slot->size_bytes, plan->alignment_bytes);
      live (slot, section, plan->n_positions, bytes);
      plan->n_streams = MAX (plan->n_streams, slot->stream + 1u);
    }
}

static gboolean
meet (const TesseraPlan *plan, const TesseraSlot *a, const TesseraSlot *b)
{
  uint32_t begin_a = a->wraps ? plan->sections[a->section].begin : a->born;
  uint32_t begin_b = b->wraps ? plan->sections[b->section].begin : b->born;

  return (begin_a < b->died && begin_b < a->died) || a->stream != b->stream ||
         a->pool != b->pool;
}

/* The lowest place at which nobody is whom it meets. */
static void
pack (TesseraPlan *plan, uint32_t index)
{
  TesseraSlot *slot = &plan->slots[index];
  bool has_moved = true;

  while (has_moved)
    {
      has_moved = false;
      for (uint32_t i = 0; i < index; i++)
        {
          const TesseraSlot *other = &plan->slots[i];

          if (slot->offset_bytes < other->offset_bytes + other->block_bytes &&
              other->offset_bytes < slot->offset_bytes + slot->block_bytes &&
              meet (plan, slot, other))
            {
              slot->offset_bytes = other->offset_bytes + other->block_bytes;
              has_moved = true;
            }
        }
    }
}

static void
place_slots (TesseraPlan *plan, Bytes *bytes)
{
  bool is_packed = bytes_take (bytes) >= 64;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      TesseraSlot *slot = &plan->slots[i];

      if (is_packed)
        pack (plan, i);
      else
        slot->offset_bytes =
            round_up (bytes_below (bytes, 256) * 64 * KIB, plan->alignment_bytes);
      plan->height_bytes =
          MAX (plan->height_bytes, slot->offset_bytes + slot->block_bytes);
    }
}

static int
compare_unplanned (const void *a, const void *b)
{
  const TesseraUnplanned *x = a, *y = b;

  if (x->section != y->section)
    return x->section < y->section ? -1 : 1;
  return (x->before > y->before) - (x->before < y->before);
}

static void
add_unplanned (TesseraPlan *plan, Bytes *bytes)
{
  plan->unplanned = calloc (MOST_UNPLANNED, sizeof *plan->unplanned);
  plan->n_unplanned = bytes_below (bytes, MOST_UNPLANNED + 1);
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      TesseraUnplanned *unplanned = &plan->unplanned[i];
      const TesseraSection *section;

      unplanned->section = bytes_below (bytes, (uint32_t) plan->n_sections);
      section = &plan->sections[unplanned->section];
      unplanned->before = section->first_slot + bytes_below (bytes, section->n_slots + 1);
      unplanned->size_bytes = fuzz_size (bytes);
      unplanned->block_bytes = round_up (unplanned->size_bytes, plan->alignment_bytes);
      unplanned->phase = bytes_below (bytes, 3);
      unplanned->stream = (uint16_t) bytes_below (bytes, 2);
    }
  qsort (plan->unplanned, plan->n_unplanned, sizeof *plan->unplanned, compare_unplanned);
}

static int
compare_rooms (const void *a, const void *b)
{
  const TesseraRoom *x = a, *y = b;
  const uint32_t of_x[] = { x->section, x->before, x->stream, x->is_small };
  const uint32_t of_y[] = { y->section, y->before, y->stream, y->is_small };

  for (size_t k = 0; k < G_N_ELEMENTS (of_x); k++)
    if (of_x[k] != of_y[k])
      return of_x[k] < of_y[k] ? -1 : 1;
  return 0;
}

static void
add_rooms (TesseraPlan *plan, Bytes *bytes)
{
  uint32_t n = bytes_below (bytes, MOST_ROOMS + 1), kept = 0;
  uint64_t grain = plan->alignment_bytes, n_grains = plan->height_bytes / grain;

  plan->rooms = calloc (n + 1, sizeof *plan->rooms);
  for (uint32_t i = 0; i < n; i++)
    {
      TesseraRoom *room = &plan->rooms[i];

      room->section = bytes_below (bytes, (uint32_t) plan->n_sections);
      room->before = plan->sections[room->section].first_slot +
                     bytes_below (bytes, plan->sections[room->section].n_slots + 1);
      room->stream = (uint16_t) bytes_below (bytes, 2);
      room->is_small = (uint8_t) bytes_below (bytes, 2);
      room->begin_bytes = bytes_below (bytes, (uint32_t) n_grains + 1) * grain;
      room->end_bytes =
          room->begin_bytes +
          bytes_below (bytes, (uint32_t) (n_grains - room->begin_bytes / grain) + 1) *
              grain;
      room->most_bytes = fuzz_size (bytes);
      room->n_requests = bytes_below (bytes, 20);
    }
  qsort (plan->rooms, n, sizeof *plan->rooms, compare_rooms);
  for (uint32_t i = 0; i < n; i++)
    if (kept == 0 || compare_rooms (&plan->rooms[kept - 1], &plan->rooms[i]) != 0)
      plan->rooms[kept++] = plan->rooms[i];
  plan->n_rooms = kept;
}

static void
add_regions (TesseraPlan *plan, Bytes *bytes)
{
  uint64_t end_bytes = plan->height_bytes;

  plan->regions = calloc (MOST_REGIONS, sizeof *plan->regions);
  plan->n_regions = bytes_below (bytes, MOST_REGIONS + 1);
  for (uint32_t i = 0; i < plan->n_regions; i++)
    {
      TesseraRegion *region = &plan->regions[i];

      *region = (TesseraRegion){ .begin_bytes = end_bytes,
                                 .end_bytes = end_bytes + bytes_below (bytes, 8) * MIB,
                                 .stream = (uint16_t) (i / 2),
                                 .is_small = i % 2 };
      end_bytes = region->end_bytes;
    }
}

TesseraPlan *
fuzz_plan_new (Bytes *bytes)
{
  static const uint32_t alignments[] = { 512, 512, 512, 512, 512, 1024, 4096, 2 << 20 };
  uint32_t what = bytes_take (bytes);
  TesseraPlan *plan;

  OK (tessera_plan_new (&plan));
  plan->alignment_bytes = alignments[what % G_N_ELEMENTS (alignments)];
  plan->followable = TESSERA_FOLLOWABLE_YES;
  plan->n_streams = 1;
  plan->n_sections = 1 + bytes_below (bytes, MOST_SECTIONS);
  plan->sections = calloc (plan->n_sections, sizeof *plan->sections);
  plan->slots = calloc (plan->n_sections * MOST_SLOTS, sizeof *plan->slots);
  static const char *const names[] = { "forward", "backward", "optimizer" };
  plan->strings = calloc (G_N_ELEMENTS (names), sizeof *plan->strings);
  for (; plan->n_strings < G_N_ELEMENTS (names); plan->n_strings++)
    plan->strings[plan->n_strings] = strdup (names[plan->n_strings]);
  for (uint32_t s = 0, first = 0; s < plan->n_sections; s++)
    {
      uint32_t shape = bytes_take (bytes), n = shape % (MOST_SLOTS + 1);

      plan->sections[s] = (TesseraSection){ .begin = plan->n_positions,
                                            .end = plan->n_positions + 2 * n + 1,
                                            .first_slot = first,
                                            .n_slots = n,
                                            .kind = shape >= 80 };
      if (shape >= 80 && (what & 4))
        plan->sections[s].alternate =
            s % 2 == 0 ? TESSERA_ALTERNATE_FIRST : TESSERA_ALTERNATE_SECOND;
      plan->n_positions += 2 * n + 1;
      first += n;
    }
  for (uint32_t s = 0; s < plan->n_sections; s++)
    add_slots (plan, s, (what & 128) != 0, bytes);
  place_slots (plan, bytes);
  if (what & 16)
    add_unplanned (plan, bytes);
  if (what & 64)
    add_rooms (plan, bytes);
  if (what & 32)
    add_regions (plan, bytes);
  return plan;
}
