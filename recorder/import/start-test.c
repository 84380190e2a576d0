/*
 * Tests of the state at the start: a slow model that allocates at random is recorded from
 * its middle on; what it looked like then must be found again from its end.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/private.h"

#include <glib.h>
#include <string.h>

#include "allocator/caching.h"
#include "tests/db/test-random.h"
#include "tests/db/trace-text.h"

#define N_SEGMENTS 24
#define N_PAGES 12
#define MAX_BLOCKS 4000
#define BEFORE 600 /* rounds before the recording */
#define ROUNDS 2000

/* A range that blocks lie in: a segment, or a page of an expandable reservation. */
typedef struct
{
  TesseraSegment segment;
  gboolean is_there;
  gboolean is_page;
  gboolean is_lasting; /* of a private pool: never given back, or nobody could tell */
} Place;

typedef struct
{
  TesseraHeldBlock block;
  const Place *place;
} Lot;

typedef struct
{
  GRand *random;
  Place places[N_SEGMENTS + 2 * N_PAGES]; /* ascending addr */
  Lot lots[MAX_BLOCKS];                   /* by place, then addr: kept sorted */
  size_t n_lots;
  TesseraTrace *trace; /* NULL: not recording yet */
} Model;

static void
record (Model *model,
        TesseraAction action,
        const Place *place,
        uint64_t addr,
        uint64_t size_bytes)
{
  TesseraEvent event = { .addr = addr,
                         .size_bytes = size_bytes,
                         .stack = TESSERA_NONE,
                         .stream = place->segment.stream,
                         .action = (uint8_t) action };

  if (model->trace != NULL)
    OK (tessera_trace_add_event (model->trace, &event));
}

/* Segments far apart; behind them a reservation of large pages, and one of small ones. */
static void
lay_out (Model *model)
{
  for (int i = 0; i < N_SEGMENTS + 2 * N_PAGES; i++)
    {
      Place *place = &model->places[i];
      int page = i - N_SEGMENTS;

      place->is_page = page >= 0;
      place->segment.stack = TESSERA_NONE;
      place->segment.is_expandable = place->is_page;
      if (page >= 0)
        {
          place->segment.is_small = page >= N_PAGES;
          place->segment.size_bytes = page < N_PAGES ? 20 * MIB : 2 * MIB;
          place->segment.addr =
              page < N_PAGES
                  ? ((uint64_t) 1 << 45) + (uint64_t) page * 20 * MIB
                  : ((uint64_t) 1 << 46) + (uint64_t) (page - N_PAGES) * 2 * MIB;
          place->segment.stream = 1;
          continue;
        }
      place->is_lasting = i % 6 == 5;
      place->segment.pool = place->is_lasting ? 1 : 0;
      place->segment.is_small = i % 3 == 0;
      place->segment.size_bytes = i % 3 == 0 ? 2 * MIB : i % 3 == 1 ? 20 * MIB : 34 * MIB;
      place->segment.addr = ((uint64_t) 1 << 44) + (uint64_t) i * 64 * MIB;
    }
}

static gboolean
is_used (const Model *model, const Place *place)
{
  for (size_t i = 0; i < model->n_lots; i++)
    if (model->lots[i].place == place)
      return TRUE;
  return FALSE;
}

static void
toggle_place (Model *model)
{
  Place *place =
      &model->places[g_rand_int_range (model->random, 0, G_N_ELEMENTS (model->places))];
  TesseraAction takes = place->is_page ? TESSERA_SEGMENT_MAP : TESSERA_SEGMENT_ALLOC;
  TesseraAction gives = place->is_page ? TESSERA_SEGMENT_UNMAP : TESSERA_SEGMENT_FREE;

  if (place->is_there && (place->is_lasting || is_used (model, place)))
    return;
  place->is_there = !place->is_there;
  record (model, place->is_there ? takes : gives, place, place->segment.addr,
          place->segment.size_bytes);
}

/* A random gap of the place that is large enough takes the request; a rest of at most
 * 1 MiB in a large segment is not split off. */
static void
allocate (Model *model)
{
  const TesseraSettings *settings = &(TesseraSettings){ .max_split_bytes = UINT64_MAX };
  const Place *place =
      &model->places[g_rand_int_range (model->random, 0, G_N_ELEMENTS (model->places))];
  uint64_t request =
      place->segment.is_small
          ? (uint64_t) g_rand_int_range (model->random, 1, (gint32) MIB)
          : MIB + (uint64_t) g_rand_int_range (model->random, 1, (gint32) (5 * MIB));
  uint64_t rounded = tessera_round_size (settings, request);
  uint64_t at = place->segment.addr, end = at + place->segment.size_bytes;
  uint64_t chosen = 0, chosen_gap = 0;
  size_t where = 0, i = 0;

  if (!place->is_there || model->n_lots == MAX_BLOCKS)
    return;
  while (i < model->n_lots && model->lots[i].block.addr < at)
    i++;
  for (;; i++)
    {
      gboolean is_last = i == model->n_lots || model->lots[i].block.addr >= end;
      uint64_t gap = (is_last ? end : model->lots[i].block.addr) - at;

      if (gap >= rounded && (chosen == 0 || g_rand_boolean (model->random)))
        {
          chosen = at;
          chosen_gap = gap;
          where = i;
        }
      if (is_last)
        break;
      at = model->lots[i].block.addr + model->lots[i].block.block_bytes;
    }
  if (chosen == 0)
    return;
  memmove (&model->lots[where + 1], &model->lots[where],
           (model->n_lots++ - where) * sizeof *model->lots);
  model->lots[where] = (Lot){ .place = place,
                              .block = { .addr = chosen,
                                         .size_bytes = request,
                                         .block_bytes = rounded,
                                         .stack = TESSERA_NONE,
                                         .state = TESSERA_BLOCK_LIVE } };
  if (!place->segment.is_small && !place->is_page && chosen_gap - rounded <= MIB)
    model->lots[where].block.block_bytes = chosen_gap;
  record (model, TESSERA_ALLOC, place, chosen, request);
}

static void
drop (Model *model)
{
  Lot *lot;

  if (model->n_lots == 0)
    return;
  lot = &model->lots[g_rand_int_range (model->random, 0, (gint32) model->n_lots)];
  if (lot->block.state == TESSERA_BLOCK_LIVE)
    {
      record (model, TESSERA_FREE_REQUESTED, lot->place, lot->block.addr,
              lot->block.size_bytes);
      lot->block.state = TESSERA_BLOCK_PENDING;
      if (g_rand_int_range (model->random, 0, 3) == 0)
        return;
    }
  record (model, TESSERA_FREE_COMPLETED, lot->place, lot->block.addr,
          lot->block.size_bytes);
  memmove (lot, lot + 1, (size_t) (model->lots + --model->n_lots - lot) * sizeof *lot);
}

/* The places as a snapshot lists them: touching pages are one range. */
static void
hold (const Model *model, TesseraHeld *held)
{
  for (size_t i = 0; i < G_N_ELEMENTS (model->places); i++)
    {
      const Place *place = &model->places[i];
      TesseraSegment *last =
          held->n_segments > 0 ? &held->segments[held->n_segments - 1] : NULL;

      if (!place->is_there)
        continue;
      if (place->is_page && last != NULL && last->is_expandable &&
          last->addr + last->size_bytes == place->segment.addr)
        last->size_bytes += place->segment.size_bytes;
      else
        OK (tessera_trace_add_segment (held, &place->segment));
    }
  for (size_t i = 0; i < model->n_lots; i++)
    OK (tessera_trace_add_block (held, &model->lots[i].block));
}

static void
check_equal (const TesseraHeld *found, const TesseraHeld *truth, uint64_t *n_open)
{
  g_assert_cmpuint (found->n_segments, ==, truth->n_segments);
  for (size_t i = 0; i < truth->n_segments; i++)
    {
      const TesseraSegment *a = &found->segments[i], *b = &truth->segments[i];

      SAME (addr), SAME (size_bytes), SAME (stream), SAME (pool), SAME (is_small),
          SAME (is_expandable);
    }
  g_assert_cmpuint (found->n_blocks, ==, truth->n_blocks);
  for (size_t i = 0; i < truth->n_blocks; i++)
    {
      const TesseraHeldBlock *a = &found->blocks[i], *b = &truth->blocks[i];

      SAME (addr), SAME (size_bytes), SAME (state);
      *n_open += a->tail_open;
      /* A neighbour is either right behind a block or more than 1 MiB away: what is not
       * left open is exact. */
      if (a->tail_open)
        g_assert_cmpuint (b->block_bytes - a->block_bytes, <=, MIB);
      else
        g_assert_cmpuint (a->block_bytes, ==, b->block_bytes);
    }
}

static void
play (Model *model, int rounds)
{
  for (int i = 0; i < rounds; i++)
    {
      int what = g_rand_int_range (model->random, 0, 10);

      if (what < 1)
        toggle_place (model);
      else if (what < 7)
        allocate (model);
      else
        drop (model);
    }
}

static void
test_against_model (void)
{
  uint64_t n_blocks = 0, n_open = 0;

  for (guint32 seed = 1; seed <= 60; seed++)
    {
      g_autofree Model *model = g_new0 (Model, 1);
      TesseraHeld truth = { 0 };
      TesseraTrace *trace;
      uint16_t id;

      OK (tessera_trace_new (&trace));
      OK (tessera_trace_add_stream (trace, 7, &id));
      OK (tessera_trace_add_pool (trace, (TesseraPoolId){ .user_id = 3 }, &id));
      model->random = g_rand_new_with_seed (seed);
      lay_out (model);
      play (model, BEFORE);
      hold (model, &truth);
      model->trace = trace;
      play (model, ROUNDS);
      trace->has_segments = true;
      hold (model, &trace->end);
      if (g_test_verbose ())
        g_test_message ("seed %u", seed);
      tessera_rewind (trace);
      check_equal (&trace->start, &truth, &n_open);
      for (size_t i = 0; i < trace->n_events; i++)
        g_assert_cmpuint (trace->events[i].pool, ==,
                          trace->events[i].addr >> 44 == 1 &&
                                  (trace->events[i].addr >> 26 & 0x3ff) % 6 == 5
                              ? 1
                              : 0);
      n_blocks += truth.n_blocks;
      g_free (truth.segments);
      g_free (truth.blocks);
      g_rand_free (model->random);
      tessera_trace_free (trace);
    }
  g_assert_cmpuint (n_blocks, >, 1000);
  g_assert_cmpuint (n_open, >, 10);
}

/* The example at the head of start.c. */
static void
test_tail (void)
{
  const uint64_t rounded = 5 * MIB + 512;
  TesseraTrace *trace =
      test_trace_of ("free B 5M+100; free_completed B+12M 2M; end segment B 20M;"
                     "end block B+5M+307712 2M 2M");

  tessera_rewind (trace);
  g_assert_cmpuint (trace->start.n_blocks, ==, 3);
  g_assert_cmpuint (trace->start.blocks[0].block_bytes, ==, rounded + 300 * 1024);
  g_assert_false (trace->start.blocks[0].tail_open);
  g_assert_cmpuint (trace->start.blocks[0].state, ==, TESSERA_BLOCK_LIVE);
  g_assert_cmpuint (trace->start.blocks[2].block_bytes, ==, 2 * MIB);
  g_assert_true (trace->start.blocks[2].tail_open);
  g_assert_cmpuint (trace->start.blocks[2].state, ==, TESSERA_BLOCK_PENDING);
  tessera_trace_free (trace);
}

/* A block older than the trace was rounded by the settings of the run, as any other. */
static void
test_rounding (void)
{
  TesseraTrace *trace = test_trace_of ("free_completed B 307200; end segment B 2M small");

  for (size_t i = 0; i < G_N_ELEMENTS (trace->settings.roundup_divisions); i++)
    trace->settings.roundup_divisions[i] = 2;
  tessera_rewind (trace);
  g_assert_cmpuint (trace->start.n_blocks, ==, 1);
  g_assert_cmpuint (trace->start.blocks[0].block_bytes, ==, 384 * 1024);
  tessera_trace_free (trace);
}

/* A mapped range that does not say its pool has that of the nearest range of its size
 * class: next to a private pool's small pages, large ones are the default pool's. */
static void
test_pool_of_class (void)
{
  /* events of a range that nobody told the pool of */
  static const char *const events[] = { "segment_map B+40M 20M; segment_unmap B+40M 20M",
                                        "segment_map B+40M 2M; segment_unmap B+40M 2M" };

  for (uint16_t pool = 0; pool < 2; pool++)
    {
      TesseraTrace *trace = test_trace_of (events[pool]);
      uint16_t id;

      OK (tessera_trace_add_pool (trace, (TesseraPoolId){ .user_id = 3 }, &id));
      test_tell (trace, "end segment B 2M small expandable pool");
      tessera_rewind (trace);
      for (size_t k = 0; k < trace->n_events; k++)
        g_assert_cmpuint (trace->events[k].pool, ==, pool);
      tessera_trace_free (trace);
    }
}

/* An allocation and the end that differ in a block's size are counted, once each. */
static void
test_sizes_that_differ (void)
{
  TesseraTrace *trace =
      test_trace_of ("segment_alloc B 20M; alloc B 3M; alloc B+4M 3M; end segment B 20M;"
                     "end block B 2M 2M; end block B+4M 3M 3M");

  tessera_rewind (trace);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.size_differs"), ==,
                   "1 sizes differ between entries and the end");
  tessera_trace_free (trace);
}

/* A free of another size than its allocation is counted, whichever of its two entries says
 * so and also where no segment is told of. */
static void
test_sizes_of_frees (void)
{
  static const struct
  {
    const char *frees, *says;
  } cases[] = { { "free_requested B 512; free_completed B 512", NULL },
                { "free_requested B 1024; free_completed B 1024",
                  "1 sizes differ between entries and the end" },
                { "free_requested B 1024; free_completed B 512",
                  "1 sizes differ between entries and the end" },
                { "free_requested B 512; free_completed B 1024",
                  "2 sizes differ between entries and the end" } };

  for (size_t i = 0; i < 2 * G_N_ELEMENTS (cases); i++)
    {
      TesseraTrace *trace = test_trace_of ("alloc B 512");

      test_tell (trace, cases[i / 2].frees);
      trace->has_segments = i % 2;
      tessera_rewind (trace);
      g_assert_cmpstr (tessera_trace_get_meta (trace, "note.size_differs"), ==,
                       cases[i / 2].says);
      g_assert_cmpstr (tessera_trace_get_meta (trace, "note.outside_segments"), ==,
                       i % 2 ? "1 frees or blocks lie in no segment" : NULL);
      g_assert_cmpuint (trace->start.n_blocks, ==, 0);
      tessera_trace_free (trace);
    }
}

/* The allocation of a block is recorded at a wrong address: the true one must not look
 * older than the trace, where something else lay before it. */
static void
test_wrong_address (void)
{
  TesseraTrace *trace = test_trace_of (
      "alloc B+1024 512; free B+1024 512; alloc B+524288 2048; end segment B 2M small;"
      "end block B 2048 2048");

  tessera_rewind (trace);
  g_assert_cmpuint (trace->start.n_blocks, ==, 0);
  g_assert_nonnull (tessera_trace_get_meta (trace, "note.alloc_not_live"));
  tessera_trace_free (trace);
}

/* Entries that contradict the end in every way: the start is still in order. */
static void
test_nonsense (void)
{
  GRand *random = g_rand_new_with_seed (99);

  for (int round = 0; round < 200; round++)
    {
      TesseraTrace *trace;
      uint64_t end = 0;

      import_must (tessera_trace_new (&trace));
      trace->has_segments = true;
      for (int i = 0; i < 10; i++)
        {
          TesseraSegment segment = {
            .addr = (uint64_t) g_rand_int_range (random, 0, 64) * MIB,
            .size_bytes = (uint64_t) g_rand_int_range (random, 0, 40) * MIB,
            .is_expandable = g_rand_boolean (random),
          };
          TesseraHeldBlock block = {
            .addr = (uint64_t) g_rand_int_range (random, 0, 64) * MIB,
            .size_bytes = 5,
            .block_bytes = (uint64_t) g_rand_int_range (random, 0, 40) * MIB,
            .state = TESSERA_BLOCK_LIVE,
          };

          import_must (tessera_trace_add_segment (&trace->end, &segment));
          import_must (tessera_trace_add_block (&trace->end, &block));
        }
      for (int i = 0; i < 300; i++)
        {
          TesseraEvent event = {
            .addr = (uint64_t) g_rand_int_range (random, 0, 64) * MIB,
            .size_bytes = (uint64_t) g_rand_int_range (random, 0, 40) * MIB,
            .action =
                (uint8_t) g_rand_int_range (random, TESSERA_ALLOC, TESSERA_MARK + 1),
          };

          import_must (tessera_trace_add_event (trace, &event));
        }
      tessera_rewind (trace);
      for (size_t i = 0; i < trace->start.n_segments; i++)
        {
          g_assert_cmpuint (trace->start.segments[i].addr, >=, end);
          end = trace->start.segments[i].addr + trace->start.segments[i].size_bytes;
        }
      end = 0;
      for (size_t i = 0; i < trace->start.n_blocks; i++)
        {
          g_assert_cmpuint (trace->start.blocks[i].addr, >=, end);
          g_assert_cmpuint (trace->start.blocks[i].block_bytes, >, 0);
          end = trace->start.blocks[i].addr + trace->start.blocks[i].block_bytes;
        }
      tessera_trace_free (trace);
    }
  g_rand_free (random);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/start/against-model", test_against_model);
  g_test_add_func ("/start/tail", test_tail);
  g_test_add_func ("/start/rounding", test_rounding);
  g_test_add_func ("/start/pool-of-class", test_pool_of_class);
  g_test_add_func ("/start/sizes-that-differ", test_sizes_that_differ);
  g_test_add_func ("/start/sizes-of-frees", test_sizes_of_frees);
  g_test_add_func ("/start/wrong-address", test_wrong_address);
  g_test_add_func ("/start/nonsense", test_nonsense);
  return g_test_run ();
}
