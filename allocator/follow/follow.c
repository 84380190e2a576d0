/*
 * Following a plan: which slot, if any, serves this request now.
 *
 * The run is aligned with the slots of the section it is in (allocator/follow/align.h);
 * where it lost its way altogether, say after an evaluation, the last requests are looked
 * for in all sections. Whatever this says is only a proposal: a range is handed out when
 * it is free (allocator/follow/taken.h), else another that is not needed meanwhile
 * (allocator/follow/reuse.h). Cost: a look-up in a hash table, a comparison and two words
 * of a bitmap where the run does what was planned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow.h"

#include <stdlib.h>
#include <string.h>

#include "allocator/follow/align.h"
#include "allocator/follow/reuse.h"
#include "allocator/follow/slots.h"
#include "allocator/follow/taken.h"

enum
{
  /* A miss counts up, a hit down: with as many the place is looked for anew. */
  ASTRAY_MISS = 2,
  ASTRAY_LIMIT = 8,
  /* A phase that begins so few slots ahead was reached with the last requests before it
     left out. */
  PHASE_REACH = 16,
  /* A phase far off is believed where one of its first requests comes first. */
  PHASE_FIRST = 8,
  /* Slots that the run left out, latest first: searched where a slot is not free. */
  MAX_LEFT_OUT = 128
};

typedef struct
{
  const char *name;
  uint32_t phase;
} PhaseName;

struct TesseraFollower
{
  const TesseraPlan *plan;
  PhaseName *phases; /* [plan->n_strings] by name: a run may enter one at every request */
  TesseraSlots slots;
  TesseraTaken *taken;
  TesseraFollowerGuard guard;
  TesseraReuse reuse;
  TesseraAlign align; /* places counted from the first slot of @section */
  uint32_t *used_in;  /* [n_slots] visit of its section in which it was last handed out */
  uint32_t *freed;    /* [n_rotas] slot given back last, or TESSERA_NONE */
  uint32_t visit;     /* counts sections entered */
  uint32_t section;   /* TESSERA_NONE: the plan has none */
  uint32_t next_section;
  uint32_t recent[TESSERA_GRAM_SLOTS]; /* signatures of the last requests, oldest first */
  uint32_t n_recent;
  uint32_t left_out[MAX_LEFT_OUT]; /* a ring of slots */
  uint32_t n_left_out;             /* ever */
  uint32_t astray;
  uint32_t far_phase; /* slot of the section at which the phase begins that was entered,
                         far from the cursor; NONE: the run is where it should be */
  uint32_t mark;      /* slot of the section at which the run told a step */
  bool is_at_mark;    /* ... and entered no phase of the plan since */
  bool has_marks;     /* the run tells its steps */
  TesseraFollowerStats stats;
};

static int
compare_names (const void *a, const void *b)
{
  const PhaseName *x = a;
  const PhaseName *y = b;

  return strcmp (x->name, y->name);
}

static bool
sort_phases (TesseraFollower *follower)
{
  const TesseraPlan *plan = follower->plan;

  follower->phases = calloc (plan->n_strings + 1, sizeof *follower->phases);
  if (follower->phases == NULL)
    return false;
  for (uint32_t i = 0; i < plan->n_strings; i++)
    follower->phases[i] = (PhaseName){ plan->strings[i], i };
  qsort (follower->phases, plan->n_strings, sizeof *follower->phases, compare_names);
  return true;
}

/* The section that comes after @section when nothing says otherwise. */
static uint32_t
expect_after (const TesseraFollower *follower, uint32_t section)
{
  const TesseraPlan *plan = follower->plan;
  bool repeats = plan->sections[section].kind == TESSERA_SECTION_REPEATS;

  if (repeats && (!follower->has_marks || section + 1 == plan->n_sections))
    return section;
  return section + 1 < plan->n_sections ? section + 1 : TESSERA_NONE;
}

static void
enter (TesseraFollower *follower, uint32_t section, uint32_t place)
{
  if (section != follower->section)
    follower->is_at_mark = false;
  follower->section = section;
  follower->next_section = expect_after (follower, section);
  follower->visit++;
  follower->astray = 0;
  follower->far_phase = TESSERA_NONE;
  tessera_align_reset (&follower->align, place);
}

TesseraStatus
tessera_follower_new (const TesseraPlan *plan, TesseraFollower **out_follower)
{
  TesseraFollower *follower = calloc (1, sizeof *follower);
  TesseraStatus status = TESSERA_NO_MEMORY;

  *out_follower = NULL;
  if (follower == NULL)
    return TESSERA_NO_MEMORY;
  follower->plan = plan;
  status = tessera_slots_init (&follower->slots, plan);
  if (status != TESSERA_OK)
    goto fail;
  status = tessera_taken_new (follower->slots.offsets, follower->slots.n_offsets,
                              &follower->taken);
  if (status != TESSERA_OK)
    goto fail;
  status = tessera_reuse_init (&follower->reuse, &follower->slots);
  if (status != TESSERA_OK)
    goto fail;
  status = TESSERA_NO_MEMORY;
  follower->used_in = calloc (plan->n_slots + 1, sizeof *follower->used_in);
  follower->freed = malloc ((follower->slots.n_rotas + 1) * sizeof *follower->freed);
  if (follower->used_in == NULL || follower->freed == NULL || !sort_phases (follower))
    goto fail;
  for (uint32_t i = 0; i < follower->slots.n_rotas; i++)
    follower->freed[i] = TESSERA_NONE;
  follower->section = follower->next_section = TESSERA_NONE;
  if (plan->n_sections > 0)
    enter (follower, 0, 0);
  *out_follower = follower;
  return TESSERA_OK;

fail:
  tessera_follower_free (follower);
  return status;
}

void
tessera_follower_free (TesseraFollower *follower)
{
  if (follower == NULL)
    return;
  tessera_slots_clear (&follower->slots);
  tessera_taken_free (follower->taken);
  tessera_reuse_clear (&follower->reuse);
  free (follower->used_in);
  free (follower->freed);
  free (follower->phases);
  free (follower);
}

void
tessera_follower_set_guard (TesseraFollower *follower, const TesseraFollowerGuard *guard)
{
  follower->guard = *guard;
}

static uint32_t
n_asked_now (const TesseraFollower *follower)
{
  return follower->slots.n_asked[follower->section];
}

static const TesseraSection *
section_now (const TesseraFollower *follower)
{
  return &follower->plan->sections[follower->section];
}

static uint32_t
cursor_now (const TesseraFollower *follower)
{
  return follower->align.cursor > 0 ? (uint32_t) follower->align.cursor : 0;
}

void
tessera_follower_step (TesseraFollower *follower)
{
  const TesseraPlan *plan = follower->plan;
  const TesseraSection *section;

  follower->has_marks = true;
  if (follower->section == TESSERA_NONE)
    return;
  follower->next_section = expect_after (follower, follower->section);
  section = section_now (follower);
  /* The start may hold steps of its own (the first ones often differ): a mark far from
     its end is one of theirs. */
  if (section->kind != TESSERA_SECTION_REPEATS &&
      follower->align.cursor + TESSERA_ALIGN_REACH < n_asked_now (follower))
    {
      if (!follower->is_at_mark)
        follower->mark = cursor_now (follower);
      follower->is_at_mark = true;
      return;
    }
  for (uint32_t k = 0; k < plan->n_sections; k++)
    {
      uint32_t s = (follower->section + k) % (uint32_t) plan->n_sections;

      if (plan->sections[s].kind == TESSERA_SECTION_REPEATS)
        {
          enter (follower, s, 0);
          follower->mark = 0;
          follower->is_at_mark = true;
          return;
        }
    }
}

static bool
phase_begins_at (const TesseraFollower *follower, uint32_t place, uint32_t phase)
{
  const TesseraSlot *slot =
      &follower->plan->slots[section_now (follower)->first_slot + place];

  return slot->phase == phase && (place == 0 || slot[-1].phase != phase);
}

/* Where the phase begins next, from @from on; n_slots: nowhere. In a section that repeats
 * what lies before comes again. */
static uint32_t
find_phase (const TesseraFollower *follower, uint32_t from, uint32_t phase)
{
  uint32_t n_slots = n_asked_now (follower);
  bool repeats = section_now (follower)->kind == TESSERA_SECTION_REPEATS;

  for (uint32_t d = 0; d < n_slots && (repeats || from + d < n_slots); d++)
    if (phase_begins_at (follower, (from + d) % n_slots, phase))
      return (from + d) % n_slots;
  return n_slots;
}

/* The run enters a phase of the plan, and the slot at the cursor is of another. The first
 * one of a step is looked for from where the step began: what was asked for between steps
 * may have looked like any other part. */
static void
expect_phase (TesseraFollower *follower, uint32_t phase)
{
  uint32_t n_slots = n_asked_now (follower);
  uint32_t cursor = cursor_now (follower);
  bool is_lost = follower->astray >= ASTRAY_LIMIT || cursor >= n_slots;
  uint32_t from = follower->is_at_mark ? follower->mark : cursor;
  bool repeats = section_now (follower)->kind == TESSERA_SECTION_REPEATS;
  uint32_t place;

  if (from >= n_slots && !repeats)
    return;
  place = find_phase (follower, from % n_slots, phase);
  if (place == n_slots)
    return;
  if (!is_lost && place >= cursor && place - cursor < PHASE_REACH)
    tessera_align_hint (&follower->align, place);
  else
    /* The run may also enter a phase without any requests: the next one tells. */
    follower->far_phase = place;
  follower->astray = 0;
}

void
tessera_follower_phase (TesseraFollower *follower, const char *name)
{
  const PhaseName key = { .name = name };
  const PhaseName *found;
  uint32_t n_slots, cursor;

  follower->far_phase = TESSERA_NONE;
  if (name == NULL || follower->section == TESSERA_NONE)
    return;
  found = bsearch (&key, follower->phases, follower->plan->n_strings, sizeof key,
                   compare_names);
  n_slots = n_asked_now (follower);
  if (found == NULL || n_slots == 0)
    return;
  cursor = cursor_now (follower);
  if (cursor >= n_slots || follower->astray >= ASTRAY_LIMIT ||
      follower->plan->slots[section_now (follower)->first_slot + cursor].phase !=
          found->phase)
    expect_phase (follower, found->phase);
  follower->is_at_mark = false;
}

/* The first request since a phase was entered that begins elsewhere: if it is one of the
 * phase's first, the run is there, whatever was taken for planned before. */
static void
go_to_phase (TesseraFollower *follower, uint32_t signature)
{
  uint32_t first = section_now (follower)->first_slot;
  uint32_t place = follower->far_phase;
  uint32_t n_slots = n_asked_now (follower);

  follower->far_phase = TESSERA_NONE;
  for (uint32_t i = place; i < n_slots && i < place + PHASE_FIRST; i++)
    if (follower->slots.signatures[first + i] == signature)
      {
        enter (follower, follower->section, place);
        return;
      }
}

static TesseraRoute
route_ahead (const TesseraFollower *follower)
{
  const TesseraSection *now = section_now (follower);
  TesseraRoute route = {
    .now = follower->slots.signatures + now->first_slot,
    .n_now = n_asked_now (follower),
  };

  if (follower->next_section != TESSERA_NONE)
    {
      const TesseraSection *next = &follower->plan->sections[follower->next_section];

      route.next = follower->slots.signatures + next->first_slot;
      route.n_next = follower->slots.n_asked[follower->next_section];
    }
  return route;
}

/* At the end of a section that repeats and is not the last, the request itself tells
 * whether it is done again. */
static void
choose_next (TesseraFollower *follower, uint32_t signature)
{
  const TesseraPlan *plan = follower->plan;
  uint32_t section = follower->section;
  const uint32_t choices[] = { expect_after (follower, section), section, section + 1 };

  for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++)
    {
      uint32_t s = choices[k];

      if (s >= plan->n_sections ||
          (s == section && section_now (follower)->kind != TESSERA_SECTION_REPEATS))
        continue;
      if (follower->slots.n_asked[s] > 0 &&
          follower->slots.signatures[plan->sections[s].first_slot] == signature)
        {
          follower->next_section = s;
          return;
        }
    }
}

/* The run passes from one section to the next: at once when it is sure of it, else when
 * most of what it may still be compared with lies there. */
static void
pass_on (TesseraFollower *follower)
{
  int64_t n_now = n_asked_now (follower);
  int64_t margin = follower->align.is_sure ? 1 : TESSERA_ALIGN_REACH / 2;

  if (follower->next_section == TESSERA_NONE || follower->align.cursor < n_now + margin)
    return;
  tessera_align_move (&follower->align, n_now);
  follower->section = follower->next_section;
  follower->is_at_mark = false;
  follower->next_section = expect_after (follower, follower->section);
  follower->visit++;
}

static void
remember (TesseraFollower *follower, uint32_t signature)
{
  memmove (follower->recent, follower->recent + 1,
           (TESSERA_GRAM_SLOTS - 1) * sizeof follower->recent[0]);
  follower->recent[TESSERA_GRAM_SLOTS - 1] = signature;
  if (follower->n_recent < TESSERA_GRAM_SLOTS)
    follower->n_recent++;
}

/* The first slot that may still come: once steps repeat, the start does not come again,
 * however like it an evaluation looks. */
static uint32_t
first_ahead (const TesseraFollower *follower)
{
  const TesseraSection *section = section_now (follower);

  return section->kind == TESSERA_SECTION_REPEATS ? section->first_slot : 0;
}

/* Looks for the last requests in the whole plan. */
static uint32_t
find_again (TesseraFollower *follower)
{
  const TesseraPlan *plan = follower->plan;
  const TesseraSection *section = section_now (follower);
  int64_t cursor = follower->align.cursor + section->first_slot;
  uint32_t slot;
  uint32_t s = 0;

  if (follower->n_recent < TESSERA_GRAM_SLOTS)
    return TESSERA_NONE;
  slot = tessera_slots_find_gram (&follower->slots, follower->recent,
                                  cursor > 0 ? (uint32_t) cursor : 0,
                                  first_ahead (follower));
  if (slot == TESSERA_NONE)
    return TESSERA_NONE;
  while (slot - plan->sections[s].first_slot >= plan->sections[s].n_slots)
    s++;
  enter (follower, s, slot - plan->sections[s].first_slot + 1);
  return slot;
}

static void
note_left_out (TesseraFollower *follower, uint32_t first, uint32_t end)
{
  if (end - first > MAX_LEFT_OUT)
    first = end - MAX_LEFT_OUT;
  for (uint32_t slot = first; slot < end; slot++)
    follower->left_out[follower->n_left_out++ % MAX_LEFT_OUT] = slot;
}

/* The slot that this request is, or TESSERA_NONE. */
static uint32_t
find_slot (TesseraFollower *follower, uint32_t signature)
{
  TesseraRoute route;
  int64_t cursor;
  int64_t place;
  uint32_t slot = TESSERA_NONE;

  if (follower->far_phase != TESSERA_NONE)
    go_to_phase (follower, signature);
  if (follower->align.is_sure && follower->align.cursor == n_asked_now (follower))
    choose_next (follower, signature);
  route = route_ahead (follower);
  cursor = follower->align.cursor;
  if (tessera_align_request (&follower->align, &route, signature, &place))
    {
      const TesseraSection *section = section_now (follower);

      if (place >= n_asked_now (follower))
        {
          place -= n_asked_now (follower);
          section = &follower->plan->sections[follower->next_section];
        }
      else if (place > cursor && cursor >= 0)
        note_left_out (follower, section->first_slot + (uint32_t) cursor,
                       section->first_slot + (uint32_t) place);
      slot = section->first_slot + (uint32_t) place;
      follower->astray -= follower->astray > 0;
    }
  else
    follower->astray += ASTRAY_MISS;
  pass_on (follower);
  if (slot == TESSERA_NONE && follower->astray >= ASTRAY_LIMIT)
    slot = find_again (follower);
  return slot;
}

static bool
take (TesseraFollower *follower, uint32_t slot)
{
  uint64_t end_bytes;

  if (!tessera_taken_take (follower->taken, &follower->guard, follower->slots.ranks[slot],
                           follower->slots.end_ranks[slot],
                           follower->plan->slots[slot].block_bytes, slot, &end_bytes))
    return false;
  follower->used_in[slot] = follower->visit;
  return true;
}

/* Of the slots that the run left out, the smallest that would have lived long enough:
 * nobody else needs its range until then. */
static uint32_t
find_left_out (const TesseraFollower *follower, const TesseraSlot *like)
{
  const TesseraPlan *plan = follower->plan;
  uint32_t n = follower->n_left_out < MAX_LEFT_OUT ? follower->n_left_out : MAX_LEFT_OUT;
  uint32_t best = TESSERA_NONE;

  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraSlot *slot = &plan->slots[follower->left_out[i]];

      if (slot->section == like->section &&
          tessera_reuse_key (plan, slot) == tessera_reuse_key (plan, like) &&
          slot->born < like->born && slot->died >= like->died &&
          slot->block_bytes >= like->block_bytes &&
          follower->used_in[follower->left_out[i]] != follower->visit &&
          (best == TESSERA_NONE || slot->block_bytes < plan->slots[best].block_bytes))
        best = follower->left_out[i];
    }
  return best;
}

/* A free place of the slot's rota: its spare, the one that was given back last, any. */
static uint32_t
take_turn (TesseraFollower *follower, uint32_t wanted)
{
  const TesseraSlots *slots = &follower->slots;
  uint32_t place = slots->next_places[wanted];
  uint32_t freed;

  if (place == wanted)
    return TESSERA_NONE;
  if (take (follower, place))
    return place;
  freed = follower->freed[slots->rotas[wanted]];
  if (freed != TESSERA_NONE && take (follower, freed))
    return freed;
  while (place != wanted && !take (follower, place))
    place = slots->next_places[place];
  return place != wanted ? place : TESSERA_NONE;
}

/* For a request whose slot is not free: a place of its rota, else a slot left out, else
 * any place of the pool that nobody needs meanwhile. Returns: whether there is one. */
static bool
take_instead (TesseraFollower *follower,
              uint32_t wanted,
              uint64_t *out_offset_bytes,
              uint32_t *out_slot)
{
  const TesseraSlot *slots = follower->plan->slots;
  const TesseraSection *section = &follower->plan->sections[slots[wanted].section];
  uint32_t n_asked = follower->slots.n_asked[slots[wanted].section];
  uint32_t place = take_turn (follower, wanted);

  if (place == TESSERA_NONE)
    {
      place = find_left_out (follower, &slots[wanted]);
      if (place == TESSERA_NONE || !take (follower, place))
        {
          *out_slot = wanted;
          return tessera_reuse_take (&follower->reuse, follower->taken, &follower->guard,
                                     wanted, section->first_slot + n_asked - wanted - 1,
                                     out_offset_bytes);
        }
    }
  *out_slot = place;
  *out_offset_bytes = slots[place].offset_bytes;
  return true;
}

bool
tessera_follower_malloc (TesseraFollower *follower,
                         uint64_t size_bytes,
                         uint32_t stream,
                         uint32_t pool,
                         uint64_t *out_offset_bytes,
                         uint32_t *out_slot)
{
  TesseraFollowerStats *stats = &follower->stats;
  uint32_t signature =
      tessera_slots_find_signature (&follower->slots, size_bytes, stream, pool);
  uint32_t slot = TESSERA_NONE;
  bool is_known;

  /* What no slot is like tells nothing about the place: the row would not change. */
  if (signature != TESSERA_NONE)
    {
      remember (follower, signature);
      slot = find_slot (follower, signature);
    }
  is_known = slot != TESSERA_NONE;
  if (is_known && take (follower, slot))
    *out_offset_bytes = follower->plan->slots[slot].offset_bytes;
  else if (!is_known || !take_instead (follower, slot, out_offset_bytes, &slot))
    {
      stats->misses++;
      stats->miss_bytes += size_bytes;
      if (is_known)
        stats->misses_occupied++;
      else
        stats->misses_unknown++;
      return false;
    }
  else
    stats->hits_elsewhere++;
  stats->hits++;
  stats->hit_bytes += size_bytes;
  if (out_slot != NULL)
    *out_slot = slot;
  return true;
}

bool
tessera_follower_free_at (TesseraFollower *follower, uint64_t offset_bytes)
{
  uint32_t slot;

  if (!tessera_taken_give_back (follower->taken, offset_bytes, &slot))
    return false;
  if (follower->slots.rotas[slot] != TESSERA_NONE)
    follower->freed[follower->slots.rotas[slot]] = slot;
  return true;
}

void
tessera_follower_get_stats (const TesseraFollower *follower,
                            TesseraFollowerStats *out_stats)
{
  *out_stats = follower->stats;
}
