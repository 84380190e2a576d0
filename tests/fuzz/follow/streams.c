/*
 * Programs of several streams: see streams.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/follow/streams.h"

#include <pthread.h>

#include "allocator/virtual.h"
#include "tests/allocator/check.h"
#include "tests/fuzz/follow/items.h"
#include "tests/ok.h"

#define KIB ((uint64_t) 1 << 10)
#define MIB ((uint64_t) 1 << 20)

enum
{
  MOST_ITEMS = 40,
  N_STEPS = 6
};

typedef struct
{
  Item item;
  uint64_t addr;
  uint32_t generation;
  guint thread;  /* that made it */
  guint ends_at; /* position */
  guint ordered; /* streams behind the allocation, one bit each */
  guint used;
} Block;

/* A freed block that its streams' events end. */
typedef struct
{
  Block block;
  Clock event;
  bool is_recorded; /* the event: not while a pool is open */
} Pending;

/* A launch that comes after the free. */
typedef struct
{
  Block block;
  guint thread, stream;
} Late;

/* A wait that is owed before an allocation on @stream. */
typedef struct
{
  guint stream, pool, on;
  bool is_small;
} Debt;

typedef struct
{
  TesseraVirtual device; /* must be first */
  const StreamsFault *fault;
  StreamsResult *result;
  GRand *rand;
  Clocks clocks;
  MadePlan *plan;
  TesseraPolicy *policy;
  void (*unmap) (TesseraDevice *device, uint64_t addr, uint64_t size_bytes);
  Clock older_mark;
  guint left_out; /* stream */
  guint n_marks;  /* that are held */

  Item items[MOST_ITEMS];
  guint n_items, n_streams, n_threads;
  guint small;     /* of a hundred requests, and more */
  guint strangers; /* of a hundred requests */
  guint done;      /* of a hundred looks at an event find it done */
  guint refused;   /* of a hundred marks and waits */

  guint position;
  guint n_routed; /* requests until the pool is closed */
  GArray *live;   /* Block */
  GArray *graphs; /* Block: what graphs use */
  GArray *pending, *late, *debts;
  GArray *owners; /* guint: the stream of each generation */
} Storm;

static guint
below (Storm *storm, guint n)
{
  return (guint) g_rand_int_range (storm->rand, 0, (gint32) n);
}

static bool
chance (Storm *storm, guint of_hundred)
{
  return below (storm, 100) < of_hundred;
}

/* ---- What the linker has the allocator call (meson.build) ---- */

static const TesseraOccupancyLaws *laws_of_map = &tessera_occupancy_laws;
static guint thread_in_allocator; /* threads are played, one after the other */

TesseraStatus __real_tessera_occupancy_new (uint64_t height_bytes,
                                            const TesseraOccupancyLaws *laws,
                                            TesseraOccupancy **out_map);
TesseraStatus __wrap_tessera_occupancy_new (uint64_t height_bytes,
                                            const TesseraOccupancyLaws *laws,
                                            TesseraOccupancy **out_map);
pthread_t __wrap_pthread_self (void);

TesseraStatus
__wrap_tessera_occupancy_new (uint64_t height_bytes,
                              const TesseraOccupancyLaws *laws,
                              TesseraOccupancy **out_map)
{
  return __real_tessera_occupancy_new (height_bytes, laws_of_map, out_map);
}

pthread_t
__wrap_pthread_self (void)
{
  return (pthread_t) thread_in_allocator + 1;
}

/* ---- The device ---- */

static void *
mark (TesseraDevice *device, uint32_t stream)
{
  Storm *storm = (Storm *) device;
  Clock now = clocks_mark (&storm->clocks, thread_in_allocator);
  Clock *made;

  if (storm->n_routed > 0 || chance (storm, storm->refused))
    return NULL;
  if (storm->fault->marks_all_but_one)
    {
      now = (Clock){ { 0 } };
      for (guint s = 0; s < CLOCKS_STREAMS; s++)
        if (s != storm->left_out)
          {
            Clock event = clocks_record (&storm->clocks, thread_in_allocator, s);

            clock_join (&now, &event);
          }
    }
  made =
      g_memdup2 (storm->fault->marks_too_early ? &storm->older_mark : &now, sizeof now);
  storm->older_mark = now;
  storm->n_marks++;
  return made;
}

static void
forget_mark (TesseraDevice *device, void *mark)
{
  ((Storm *) device)->n_marks--;
  g_free (mark);
}

/* It would teach the host something: that counts for nothing here. */
static bool
ends (TesseraDevice *device, void *mark, uint64_t within_ns)
{
  return true;
}

static bool
order (TesseraDevice *device, uint32_t stream, void *mark)
{
  Storm *storm = (Storm *) device;

  if (storm->n_routed > 0 || chance (storm, storm->refused))
    return false;
  if (!storm->fault->orders_nothing)
    clocks_wait (&storm->clocks, thread_in_allocator, stream, mark);
  return true;
}

/* ---- Ends that wait for other streams ---- */

static void
record_events (Storm *storm, Pending *pending)
{
  const Block *block = &pending->block;

  for (guint s = 0; s < storm->n_streams; s++)
    if (block->used >> s & 1 && s != block->item.stream)
      {
        Clock event = clocks_record (&storm->clocks, thread_in_allocator, s);

        clock_join (&pending->event, &event);
      }
  pending->is_recorded = true;
}

/* Some are found to be done; or, @waits, all. */
static void
complete_pending (Storm *storm, bool waits)
{
  for (guint i = storm->pending->len; i-- > 0 && storm->n_routed == 0;)
    {
      Pending *pending = &g_array_index (storm->pending, Pending, i);
      uint64_t addr = pending->block.addr;

      if (!pending->is_recorded)
        record_events (storm, pending);
      if (!waits && !chance (storm, storm->done))
        continue;
      clocks_synchronize (&storm->clocks, thread_in_allocator, &pending->event);
      g_array_remove_index_fast (storm->pending, i);
      OK (tessera_policy_free_completed (storm->policy, addr));
    }
}

static void
synchronize (void *user)
{
  complete_pending (user, true);
}

static void
pass_block (void *user, uint64_t addr)
{
  Storm *storm = user;

  for (guint i = 0; i < storm->pending->len; i++)
    if (g_array_index (storm->pending, Pending, i).block.addr == addr)
      {
        g_array_remove_index_fast (storm->pending, i);
        storm->result->n_ended_by_passing++;
        return;
      }
  g_error ("block %" G_GINT64_MODIFIER "x passed and was not pending", addr);
}

/* ---- Uses ---- */

/* The stream waits for all that another one was given. */
static void
wait_for (Storm *storm, guint thread, guint stream, guint on)
{
  if (stream == on)
    return;
  clocks_know (&storm->clocks, thread, on);
  clocks_know (&storm->clocks, thread, stream);
  Clock event = clocks_record (&storm->clocks, thread, on);
  clocks_wait (&storm->clocks, thread, stream, &event);
}

static void
use (Storm *storm, Block *block, guint thread, guint stream)
{
  clocks_hand_over (&storm->clocks, block->thread, thread);
  if (!(block->ordered >> stream & 1))
    wait_for (storm, thread, stream, block->item.stream);
  clocks_know (&storm->clocks, thread, stream);
  clocks_use (&storm->clocks, thread, stream, block->addr, block->item.size_bytes,
              block->generation);
  block->ordered |= 1u << stream;
  block->used |= 1u << stream;
}

/* What a thread had still to launch; of blocks that an allocation could get. */
static void
launch_late (Storm *storm, guint thread, const Item *allocated)
{
  for (guint i = storm->late->len; i-- > 0;)
    {
      Late late = g_array_index (storm->late, Late, i);
      const Item *item = &late.block.item;

      if (late.thread != thread &&
          (allocated == NULL || item->stream != allocated->stream ||
           item->pool != allocated->pool ||
           (item->size_bytes <= MIB) != (allocated->size_bytes <= MIB)))
        continue;
      g_array_remove_index_fast (storm->late, i);
      use (storm, &late.block, late.thread, late.stream);
      storm->result->n_late++;
    }
}

/* ---- Memory that goes ---- */

static void
unmap (TesseraDevice *device, uint64_t addr, uint64_t size_bytes)
{
  Storm *storm = (Storm *) device;

  /* Somebody may have a launch to come, of a block that was freed: that comes just in time.
   * PyTorch too would take memory from under it, if only on shortage and for a request. */
  if (!storm->fault->memory_goes_any_time && storm->late->len > 0)
    for (guint t = 0; t < storm->n_threads; t++)
      {
        launch_late (storm, t, NULL);
        clocks_hand_over (&storm->clocks, t, thread_in_allocator);
      }
  Clock all = clocks_mark (&storm->clocks, thread_in_allocator);
  if (!storm->fault->unmaps_at_once)
    clocks_synchronize (&storm->clocks, thread_in_allocator, &all);
  clocks_unmap (&storm->clocks, thread_in_allocator, addr, size_bytes);
  storm->result->n_unmapped++;
  storm->unmap (device, addr, size_bytes);
}

static void
enter (Storm *storm, guint thread)
{
  launch_late (storm, thread, NULL);
  thread_in_allocator = thread;
  clocks_lock (&storm->clocks, thread);
}

static void
leave (Storm *storm)
{
  clocks_unlock (&storm->clocks, thread_in_allocator);
}

/* A random stream of those. */
static guint
pick (Storm *storm, guint streams)
{
  guint stream = below (storm, storm->n_streams);

  while (!(streams >> stream & 1))
    stream = (stream + 1) % storm->n_streams;
  return stream;
}

static void
use_some (Storm *storm, guint thread)
{
  if (storm->live->len == 0)
    return;
  Block *block = &g_array_index (storm->live, Block, below (storm, storm->live->len));
  use (storm, block, thread, pick (storm, block->item.sides | 1u << block->item.stream));
}

/* Graphs use all that was ever theirs. */
static void
replay (Storm *storm, guint thread)
{
  guint stream = below (storm, storm->n_streams);

  for (guint s = 0; s < storm->n_streams; s++)
    wait_for (storm, thread, stream, s);
  for (guint i = 0; i < storm->graphs->len; i++)
    {
      Block block = g_array_index (storm->graphs, Block, i);

      block.ordered = 1u << stream;
      use (storm, &block, thread, stream);
    }
  for (guint s = 0; s < 2 * storm->n_streams; s++)
    {
      const Debt debt = { s / 2, GRAPHS, stream, s % 2 };

      g_array_append_val (storm->debts, debt);
    }
  storm->result->n_replays++;
}

/* ---- Requests ---- */

static void
pay_debts (Storm *storm, guint thread, const Item *item)
{
  for (guint i = storm->debts->len; i-- > 0;)
    {
      Debt debt = g_array_index (storm->debts, Debt, i);

      if (debt.stream != item->stream || debt.pool != item->pool ||
          debt.is_small != (item->size_bytes <= MIB))
        continue;
      g_array_remove_index_fast (storm->debts, i);
      wait_for (storm, thread, debt.stream, debt.on);
    }
}

/* Graphs' memory is used again by others of their pool, on the same stream: those know of
 * each other. */
static void
add_to_graphs (Storm *storm, const Block *block)
{
  for (guint i = storm->graphs->len; i-- > 0;)
    {
      const Block *other = &g_array_index (storm->graphs, Block, i);

      if (other->item.stream == block->item.stream &&
          other->addr < block->addr + block->item.size_bytes &&
          block->addr < other->addr + other->item.size_bytes)
        g_array_remove_index_fast (storm->graphs, i);
    }
  g_array_append_val (storm->graphs, *block);
}

static bool
allocate (Storm *storm, const Item *item, Block *out_block)
{
  TesseraPolicyGrant grant;

  enter (storm, item->thread);
  complete_pending (storm, false);
  TesseraStatus status = tessera_policy_malloc (storm->policy, item->size_bytes,
                                                item->stream, item->pool, &grant);
  leave (storm);
  storm->result->n_requests++;
  if (status != TESSERA_OK)
    {
      g_assert_cmpint (status, ==, TESSERA_OUT_OF_DEVICE);
      return false;
    }
  *out_block = (Block){ .item = *item,
                        .addr = grant.grant.addr,
                        .generation = clocks_add_generation (&storm->clocks),
                        .thread = item->thread,
                        .ends_at = storm->position + item->lifetime,
                        .ordered = 1u << item->stream };
  uint32_t before = clocks_generation_at (&storm->clocks, out_block->addr);
  storm->result->n_hits += grant.is_hit;
  storm->result->n_passed +=
      before != 0 &&
      g_array_index (storm->owners, guint, before - 1) != out_block->item.stream;
  g_array_append_val (storm->owners, out_block->item.stream);
  return true;
}

static void
ask (Storm *storm, const Item *item)
{
  guint thread = item->thread;
  Block block;

  launch_late (storm, thread, item);
  pay_debts (storm, thread, item);
  clocks_know (&storm->clocks, thread, item->stream);
  for (guint s = 0; s < storm->n_streams && storm->fault->waits_too_early; s++)
    if (item->sides >> s & 1)
      wait_for (storm, thread, s, item->stream);
  if (!allocate (storm, item, &block))
    return;
  if (storm->fault->waits_too_early)
    block.ordered |= item->sides;
  if (!item->skips_owner)
    use (storm, &block, thread, item->stream);
  for (guint s = 0; s < storm->n_streams; s++)
    if (item->sides >> s & 1 && (item->skips_owner || chance (storm, 70)))
      use (storm, &block, thread, s);
  g_array_append_val (storm->live, block);
  if (item->pool == GRAPHS)
    add_to_graphs (storm, &block);
}

/* Its other streams, as the program is done with them. */
static void
settle_sides (Storm *storm, const Block *block, guint thread)
{
  const Item *item = &block->item;

  clocks_hand_over (&storm->clocks, block->thread, thread);
  clocks_know (&storm->clocks, thread, item->stream);
  for (guint s = 0; s < storm->n_streams; s++)
    if (block->used >> s & 1 && s != item->stream)
      {
        const Debt debt = { item->stream, item->pool, s, item->size_bytes <= MIB };

        clocks_know (&storm->clocks, thread, s);
        if (item->ending == JOINED)
          wait_for (storm, thread, item->stream, s);
        else if (item->ending == TRAPPED)
          g_array_append_val (storm->debts, debt);
      }
}

static void
free_block (Storm *storm, guint index)
{
  Block block = g_array_index (storm->live, Block, index);
  guint thread = block.item.freed_by, sides = block.used & ~(1u << block.item.stream);
  Late late = { block, thread, block.item.stream };

  g_array_remove_index_fast (storm->live, index);
  launch_late (storm, thread, NULL);
  settle_sides (storm, &block, thread);
  enter (storm, thread);
  if (block.item.is_late_aside && block.item.ending == TRAPPED && sides != 0)
    late.stream = pick (storm, sides);
  if (block.item.is_used_late)
    g_array_append_val (storm->late, late);
  OK (tessera_policy_free_requested (storm->policy, block.addr));
  if (sides == 0 || block.item.ending != RECORDED)
    OK (tessera_policy_free_completed (storm->policy, block.addr));
  else
    {
      Pending pending = { .block = block };

      if (storm->n_routed == 0)
        record_events (storm, &pending);
      g_array_append_val (storm->pending, pending);
    }
  leave (storm);
}

static void
free_due (Storm *storm, guint position)
{
  for (guint i = storm->live->len; i-- > 0;)
    if (g_array_index (storm->live, Block, i).ends_at <= position)
      free_block (storm, i);
}

static void
set_routed (Storm *storm, guint thread, guint n_requests)
{
  enter (storm, thread);
  storm->n_routed = n_requests;
  tessera_policy_set_routed (storm->policy, n_requests > 0);
  leave (storm);
}

/* The pool's graphs are gone. */
static void
release_graphs (Storm *storm, guint thread)
{
  enter (storm, thread);
  (void) !tessera_policy_release_pool (storm->policy, GRAPHS);
  leave (storm);
  g_array_set_size (storm->graphs, 0);
}

/* ---- Steps ---- */

static Item
make_item (Storm *storm)
{
  return item_random (storm->rand, storm->n_streams, storm->n_threads, storm->small);
}

static void
do_item (Storm *storm, const Item *item)
{
  if (item->pool != 0 && storm->n_routed == 0)
    set_routed (storm, item->thread, 1 + below (storm, 4));
  ask (storm, item);
  if (storm->n_routed == 1)
    set_routed (storm, item->thread, 0);
  else if (storm->n_routed > 0)
    storm->n_routed--;
  if (chance (storm, 40))
    use_some (storm, below (storm, storm->n_threads));
  if (storm->n_routed == 0 && storm->graphs->len > 0 && chance (storm, 5))
    replay (storm, item->thread);
}

/* Whoever marks a step is behind what every thread did in it. */
static void
begin_step (Storm *storm)
{
  guint thread = below (storm, storm->n_threads);

  for (guint t = 0; t < storm->n_threads; t++)
    {
      launch_late (storm, t, NULL);
      clocks_hand_over (&storm->clocks, t, thread);
    }
  enter (storm, thread);
  tessera_policy_step (storm->policy);
  if (storm->n_routed == 0 && chance (storm, 10))
    tessera_policy_empty_cache (storm->policy);
  leave (storm);
  if (chance (storm, 10))
    release_graphs (storm, thread);
}

static void
do_step (Storm *storm, guint step)
{
  begin_step (storm);
  for (guint i = 0; i < storm->n_items; i++)
    {
      storm->position = step * storm->n_items + i;
      free_due (storm, storm->position);
      if (chance (storm, storm->strangers))
        {
          Item stranger = make_item (storm);

          do_item (storm, &stranger);
        }
      if (!chance (storm, storm->strangers / 2))
        do_item (storm, &storm->items[i]);
    }
  free_due (storm, (step + 1) * storm->n_items);
}

/* ---- From beginning to end ---- */

static void
open_policy (Storm *storm, bool never_declines, uint64_t device_bytes)
{
  const TesseraObserver observer = { .block_passed = pass_block, .user = storm };
  TesseraPolicyOptions options = made_plan_options (storm->plan);
  TesseraDevice *device = &storm->device.device;
  uint64_t pool_addr;

  options.never_declines = never_declines;
  options.has_fine_pages = true;
  tessera_virtual_init (&storm->device, device_bytes);
  storm->unmap = device->unmap;
  device->unmap = unmap;
  device->mark = mark;
  device->forget_mark = forget_mark;
  device->ends = ends;
  device->order = order;
  storm->device.synchronize = synchronize;
  storm->device.user = storm;
  laws_of_map = &storm->fault->laws;
  storm->policy = program_open_plan (&options, device, &observer, &pool_addr);
}

static void
make_plan (Storm *storm)
{
  storm->plan = items_plan (storm->items, storm->n_items, storm->n_streams,
                            !storm->fault->keeps_streams_apart);
}

static Storm *
storm_new (uint32_t seed, const StreamsFault *fault, StreamsResult *result)
{
  Storm *storm = g_new0 (Storm, 1);

  storm->fault = fault;
  storm->result = result;
  storm->rand = g_rand_new_with_seed (seed);
  clocks_init (&storm->clocks);
  storm->live = g_array_new (FALSE, FALSE, sizeof (Block));
  storm->graphs = g_array_new (FALSE, FALSE, sizeof (Block));
  storm->pending = g_array_new (FALSE, FALSE, sizeof (Pending));
  storm->late = g_array_new (FALSE, FALSE, sizeof (Late));
  storm->debts = g_array_new (FALSE, FALSE, sizeof (Debt));
  storm->owners = g_array_new (FALSE, FALSE, sizeof (guint));
  return storm;
}

static void
storm_free (Storm *storm)
{
  clocks_clear (&storm->clocks);
  g_rand_free (storm->rand);
  g_array_unref (storm->live);
  g_array_unref (storm->graphs);
  g_array_unref (storm->pending);
  g_array_unref (storm->late);
  g_array_unref (storm->debts);
  g_array_unref (storm->owners);
  g_free (storm->plan);
  g_free (storm);
}

static void
end (Storm *storm)
{
  TesseraPolicyStats stats;

  if (storm->n_routed > 0)
    set_routed (storm, 0, 0);
  free_due (storm, G_MAXUINT);
  begin_step (storm);
  enter (storm, 0);
  complete_pending (storm, true);
  leave (storm);
  WORKS (error, tessera_policy_check (storm->policy, &error));
  tessera_policy_get_stats (storm->policy, &stats);
  g_assert_cmpuint (stats.caching.active_bytes, ==, 0);
  storm->result->n_barriers += (guint) stats.n_barriers;
  tessera_policy_free (storm->policy);
  g_assert_cmpuint (storm->n_marks, ==, 0);
}

/* Returns: whether harm was done. */
static bool
run (Storm *storm)
{
  StreamsResult *result = storm->result;

  for (guint step = 0; step < N_STEPS; step++)
    do_step (storm, step);
  end (storm);
  guint n_harms = clocks_count_harms (&storm->clocks);
  for (guint i = 0; i < CLOCKS_N_HARMS; i++)
    result->n_harms[i] += storm->clocks.n_harms[i];
  if (n_harms > 0 && result->first_harm[0] == '\0')
    g_strlcpy (result->first_harm, storm->clocks.first, sizeof result->first_harm);
  storm_free (storm);
  return n_harms > 0;
}

bool
streams_run (uint32_t seed, const StreamsFault *fault, StreamsResult *result)
{
  static const guint strangers[] = { 0, 0, 3, 12 };
  Storm *storm = storm_new (seed, fault, result);

  storm->n_streams = 2 + below (storm, CLOCKS_STREAMS - 1);
  storm->n_threads = 1 + below (storm, CLOCKS_THREADS);
  storm->n_items = 10 + below (storm, MOST_ITEMS - 9);
  storm->left_out = below (storm, storm->n_streams);
  storm->strangers = strangers[below (storm, G_N_ELEMENTS (strangers))];
  storm->done = below (storm, 3) * 15;
  storm->small = chance (storm, 20) ? 70 : 0;
  storm->refused = chance (storm, 20) ? 4 : 0;
  for (guint i = 0; i < storm->n_items; i++)
    storm->items[i] = make_item (storm);
  make_plan (storm);
  bool never_declines = chance (storm, 50);
  uint64_t device_bytes = storm->plan->plan.height_bytes + (8 + below (storm, 40)) * MIB;
  open_policy (storm, never_declines, chance (storm, 70) ? 0 : device_bytes);
  return run (storm);
}

bool
streams_run_sharded (const StreamsFault *fault, StreamsResult *result)
{
  /* Streams: 0 computes, 1 scatters, 2 reduces. */
  static const Item items[] = {
    { .size_bytes = 4 * MIB, .lifetime = 2, .sides = 1u << 1, .ending = TRAPPED },
    { .size_bytes = 2 * MIB,
      .stream = 1,
      .lifetime = 1,
      .sides = 1u << 2,
      .ending = TRAPPED },
    { .size_bytes = 2 * MIB, .lifetime = 1 },
    { .size_bytes = 6 * MIB, .lifetime = 1 },
  };
  Storm *storm = storm_new (1, fault, result);

  storm->n_streams = 3;
  storm->n_threads = 1;
  storm->left_out = 2;
  for (guint i = 0; i < 3 * G_N_ELEMENTS (items); i++)
    storm->items[storm->n_items++] = items[i % G_N_ELEMENTS (items)];
  make_plan (storm);
  open_policy (storm, true, 0);
  return run (storm);
}
