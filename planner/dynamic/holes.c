/*
 * The largest range that slots leave free as long as a room is in use: see holes.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/dynamic/holes.h"

#include <stdlib.h>

#include "db/sort.h"

/* A slot takes its place over [begin, end). */
typedef struct
{
  uint32_t begin, end, slot;
} Life;

typedef struct
{
  uint64_t begin_bytes, end_bytes;
} Range;

/* Numbers below a limit, in ascending order: a bit each, and one for each word. */
typedef struct
{
  uint64_t *words, *any; /* [n_words], [n_words / 64 + 1] */
  size_t n_words;
} Ranks;

typedef struct
{
  TesseraPlan *plan;
  bool splits_sizes;
  Life *lives; /* by begin */
  size_t n_lives;
  size_t *alive; /* lives begun before the room in view, and not ended before the last */
  size_t n_alive, next;
  /* Slots in order of their offsets: sorting those in the way of each room anew took
   * longer than all else of a plan. */
  TesseraKeyed *order; /* [n_slots] by rank: offset and slot */
  Range *ranges;       /* [n_slots] by rank */
  uint32_t *rank;      /* [n_slots] of a slot */
  Ranks in_way;        /* of the room in view; between two, those of @alive */
  uint32_t *passing;   /* ranks that are in the way of the room in view alone */
  size_t n_passing;
  Range *foreign; /* of other owners than @owner, whenever; in order, apart */
  size_t n_foreign;
  uint64_t owner;
} Search;

static int
by_begin (const void *a, const void *b)
{
  const Life *x = a, *y = b;

  if (x->begin != y->begin)
    return x->begin < y->begin ? -1 : 1;
  return x->slot < y->slot ? -1 : x->slot > y->slot;
}

static void
put (Ranks *ranks, uint32_t rank)
{
  ranks->words[rank / 64] |= UINT64_C (1) << rank % 64;
  ranks->any[rank / 4096] |= UINT64_C (1) << rank / 64 % 64;
}

static void
take (Ranks *ranks, uint32_t rank)
{
  ranks->words[rank / 64] &= ~(UINT64_C (1) << rank % 64);
  if (ranks->words[rank / 64] == 0)
    ranks->any[rank / 4096] &= ~(UINT64_C (1) << rank / 64 % 64);
}

static bool
has (const Ranks *ranks, uint32_t rank)
{
  return ranks->words[rank / 64] >> rank % 64 & 1;
}

/* The first one from @rank on, or TESSERA_NONE. */
static uint32_t
next_rank (const Ranks *ranks, uint32_t rank)
{
  size_t word = rank / 64, part;
  uint64_t bits =
      word < ranks->n_words ? ranks->words[word] >> rank % 64 << rank % 64 : 0;

  if (bits == 0)
    {
      part = ++word / 64;
      bits = part <= ranks->n_words / 64 ? ranks->any[part] >> word % 64 << word % 64 : 0;
      while (bits == 0 && part < ranks->n_words / 64)
        bits = ranks->any[++part];
      if (bits == 0)
        return TESSERA_NONE;
      word = part * 64 + (size_t) __builtin_ctzll (bits);
      bits = ranks->words[word];
    }
  return (uint32_t) (word * 64 + (size_t) __builtin_ctzll (bits));
}

static void
list_lives (Search *search)
{
  const TesseraPlan *plan = search->plan;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      search->lives[search->n_lives++] = (Life){ slot->born, slot->died, i };
      if (slot->wraps)
        search->lives[search->n_lives++] =
            (Life){ plan->sections[slot->section].begin,
                    slot->died_next < slot->born ? slot->died_next : slot->born, i };
    }
  qsort (search->lives, search->n_lives, sizeof *search->lives, by_begin);
}

static uint64_t
owner_of (const Search *search, uint32_t stream, uint32_t pool, bool is_small)
{
  return (uint64_t) pool << 32 | (uint64_t) stream << 1 |
         (search->splits_sizes && is_small);
}

/* Where slots lie, from the lowest up. */
static TesseraStatus
rank_slots (Search *search)
{
  const TesseraPlan *plan = search->plan;
  TesseraStatus status;

  for (uint32_t i = 0; i < plan->n_slots; i++)
    search->order[i] = (TesseraKeyed){ plan->slots[i].offset_bytes, i };
  status = tessera_sort_keyed (search->order, plan->n_slots);
  for (uint32_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[search->order[i].value];

      search->ranges[i] =
          (Range){ slot->offset_bytes, slot->offset_bytes + slot->block_bytes };
      search->rank[search->order[i].value] = i;
    }
  return status;
}

static void
find_foreign (Search *search, uint64_t owner)
{
  const TesseraPlan *plan = search->plan;
  Range *foreign = search->foreign;
  size_t n = 0;

  search->owner = owner;
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[search->order[i].value];
      const Range *range = &search->ranges[i];

      if (owner_of (search, slot->stream, slot->pool,
                    slot->block_bytes <= (UINT64_C (1) << 20)) == owner)
        continue;
      if (n == 0 || range->begin_bytes > foreign[n - 1].end_bytes)
        foreign[n++] = *range;
      else if (range->end_bytes > foreign[n - 1].end_bytes)
        foreign[n - 1].end_bytes = range->end_bytes;
    }
  search->n_foreign = n;
}

/* For the room in view only. */
static void
pass_by (Search *search, const Life *life)
{
  uint32_t rank = search->rank[life->slot];

  if (has (&search->in_way, rank))
    return;
  put (&search->in_way, rank);
  search->passing[search->n_passing++] = rank;
}

/* Those alive when the room opens. Rooms come in order of their births. */
static void
keep_alive (Search *search, const TesseraRoom *room)
{
  const Life *lives = search->lives;
  size_t n_kept = 0;

  for (size_t i = 0; i < search->n_alive; i++)
    if (lives[search->alive[i]].end > room->born)
      search->alive[n_kept++] = search->alive[i];
    else
      take (&search->in_way, search->rank[lives[search->alive[i]].slot]);
  for (; search->next < search->n_lives && lives[search->next].begin <= room->born;
       search->next++)
    if (lives[search->next].end > room->born)
      {
        search->alive[n_kept++] = search->next;
        put (&search->in_way, search->rank[lives[search->next].slot]);
      }
  search->n_alive = n_kept;
}

/* And those born while it is open, or that live on into the next step. */
static void
list_passing (Search *search, const TesseraRoom *room)
{
  const Life *lives = search->lives;
  uint32_t begin = search->plan->sections[room->section].begin;

  for (size_t i = search->next; i < search->n_lives && lives[i].begin < room->died; i++)
    pass_by (search, &lives[i]);
  for (size_t i = 0; i < search->n_lives && lives[i].begin < room->died_next; i++)
    if (lives[i].end > begin)
      pass_by (search, &lives[i]);
}

static void
forget_passing (Search *search)
{
  while (search->n_passing > 0)
    take (&search->in_way, search->passing[--search->n_passing]);
}

static void
find_hole (Search *search, TesseraRoom *room)
{
  uint64_t free_from = 0, height_bytes = search->plan->height_bytes;
  uint32_t rank = next_rank (&search->in_way, 0);
  size_t b = 0;

  room->begin_bytes = room->end_bytes = height_bytes;
  for (;;)
    {
      Range next = { height_bytes, height_bytes };

      if (rank != TESSERA_NONE &&
          (b == search->n_foreign ||
           search->ranges[rank].begin_bytes <= search->foreign[b].begin_bytes))
        {
          next = search->ranges[rank];
          rank = next_rank (&search->in_way, rank + 1);
        }
      else if (b < search->n_foreign)
        next = search->foreign[b++];
      if (next.begin_bytes > free_from &&
          next.begin_bytes - free_from > room->end_bytes - room->begin_bytes)
        {
          room->begin_bytes = free_from;
          room->end_bytes = next.begin_bytes;
        }
      if (next.begin_bytes >= height_bytes)
        break;
      free_from = next.end_bytes > free_from ? next.end_bytes : free_from;
    }
}

/* Small and large rooms of one place are open for as long, and mostly have one owner. */
static bool
is_as_before (const TesseraRoom *before, const TesseraRoom *room)
{
  return before != NULL && before->section == room->section &&
         before->born == room->born && before->died == room->died &&
         before->died_next == room->died_next;
}

static void
look_at (Search *search, const TesseraRoom *before, TesseraRoom *room)
{
  if (is_as_before (before, room))
    {
      room->begin_bytes = before->begin_bytes;
      room->end_bytes = before->end_bytes;
      return;
    }
  keep_alive (search, room);
  list_passing (search, room);
  find_hole (search, room);
  forget_passing (search);
}

static void
forget_alive (Search *search)
{
  for (size_t i = 0; i < search->n_alive; i++)
    take (&search->in_way, search->rank[search->lives[search->alive[i]].slot]);
  search->n_alive = search->next = 0;
}

/* Rooms of one owner after the other: each sweeps over the lives once. */
static void
find_all (Search *search)
{
  TesseraPlan *plan = search->plan;

  for (size_t i = 0; i < plan->n_rooms; i++)
    plan->rooms[i].begin_bytes = UINT64_MAX; /* not found yet */
  for (size_t from = 0; from < plan->n_rooms; from++)
    {
      const TesseraRoom *first = &plan->rooms[from], *before = NULL;

      if (first->begin_bytes != UINT64_MAX)
        continue;
      find_foreign (search, owner_of (search, first->stream, 0, first->is_small));
      forget_alive (search);
      for (size_t i = from; i < plan->n_rooms; i++)
        if (owner_of (search, plan->rooms[i].stream, 0, plan->rooms[i].is_small) ==
            search->owner)
          {
            look_at (search, before, &plan->rooms[i]);
            before = &plan->rooms[i];
          }
    }
}

static bool
search_init (Search *search)
{
  size_t n = search->plan->n_slots + 1;

  search->in_way.n_words = n / 64 + 1;
  search->lives = malloc (2 * n * sizeof *search->lives);
  search->alive = malloc (2 * n * sizeof *search->alive);
  search->order = malloc (n * sizeof *search->order);
  search->ranges = malloc (n * sizeof *search->ranges);
  search->rank = malloc (n * sizeof *search->rank);
  search->passing = malloc (n * sizeof *search->passing);
  search->foreign = malloc (n * sizeof *search->foreign);
  search->in_way.words = calloc (search->in_way.n_words, sizeof (uint64_t));
  search->in_way.any = calloc (search->in_way.n_words / 64 + 1, sizeof (uint64_t));
  return search->lives && search->alive && search->order && search->ranges &&
         search->rank && search->passing && search->foreign && search->in_way.words &&
         search->in_way.any;
}

static void
search_clear (Search *search)
{
  free (search->lives);
  free (search->alive);
  free (search->order);
  free (search->ranges);
  free (search->rank);
  free (search->passing);
  free (search->foreign);
  free (search->in_way.words);
  free (search->in_way.any);
}

TesseraStatus
tessera_find_holes (TesseraPlan *plan, bool splits_sizes)
{
  Search search = { .plan = plan, .splits_sizes = splits_sizes };
  TesseraStatus status = TESSERA_NO_MEMORY;

  if (search_init (&search))
    status = rank_slots (&search);
  if (status == TESSERA_OK)
    {
      list_lives (&search);
      find_all (&search);
    }
  search_clear (&search);
  return status;
}
