/*
 * The plain allocator of naive.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/naive.h"

#define MIB ((uint64_t) 1 << 20)
#define NONE G_MAXUINT

static NaiveBlock *
at (const Naive *naive, guint i)
{
  return &g_array_index (naive->blocks, NaiveBlock, i);
}

void
naive_open (Naive *naive, const TesseraCachingOptions *options, uint64_t device_bytes)
{
  *naive = (Naive){ .options = *options };
  tessera_virtual_init (&naive->device, device_bytes);
  naive->blocks = g_array_new (FALSE, FALSE, sizeof (NaiveBlock));
  naive->calls = g_array_new (FALSE, FALSE, sizeof (NaiveCall));
  naive->waiting = g_array_new (FALSE, FALSE, sizeof (uint64_t));
}

void
naive_close (Naive *naive)
{
  g_array_unref (naive->blocks);
  g_array_unref (naive->calls);
  g_array_unref (naive->waiting);
}

static void
say (Naive *naive, char what, uint64_t addr, uint64_t size)
{
  NaiveCall call = { what, addr, size };

  g_array_append_val (naive->calls, call);
}

static guint
find (const Naive *naive, uint64_t addr, bool is_in_use)
{
  for (guint i = 0; i < naive->blocks->len; i++)
    if (at (naive, i)->addr == addr && (at (naive, i)->state != NAIVE_FREE) == is_in_use)
      return i;
  return NONE;
}

/* The block of the same segment that ends (side < 0) or begins where this one does. */
static guint
neighbour (const Naive *naive, guint i, int side)
{
  const NaiveBlock *block = at (naive, i);

  for (guint k = 0; k < naive->blocks->len; k++)
    {
      const NaiveBlock *other = at (naive, k);

      if (other->segment == block->segment && k != i &&
          (side < 0 ? other->addr + other->size == block->addr
                    : block->addr + block->size == other->addr))
        return k;
    }
  return NONE;
}

static void
stamp (Naive *naive, guint i)
{
  NaiveBlock *block = at (naive, i);

  block->stamp = naive->n_searches[block->pool][block->is_small];
}

/* Joins block @i with free neighbours of its kind. */
static void
join (Naive *naive, guint i)
{
  stamp (naive, i);
  for (int side = -1; side <= 1; side += 2)
    {
      guint k = neighbour (naive, i, side);

      if (k == NONE || at (naive, k)->state != NAIVE_FREE ||
          at (naive, k)->is_mapped != at (naive, i)->is_mapped)
        continue;
      at (naive, i)->addr = MIN (at (naive, i)->addr, at (naive, k)->addr);
      at (naive, i)->size += at (naive, k)->size;
      g_array_remove_index (naive->blocks, k);
      i -= k < i;
    }
}

/* Block @i keeps its lower part. */
static guint
cut (Naive *naive, guint i, uint64_t size)
{
  NaiveBlock rest = *at (naive, i);

  rest.addr += size;
  rest.size -= size;
  at (naive, i)->size = size;
  g_array_append_val (naive->blocks, rest);
  stamp (naive, naive->blocks->len - 1);
  return naive->blocks->len - 1;
}

static uint64_t
handle (const Naive *naive, uint32_t stream)
{
  return stream < naive->options.n_streams ? naive->options.stream_handles[stream]
                                           : stream;
}

static bool
is_before (const Naive *naive, const NaiveBlock *a, const NaiveBlock *b)
{
  if (a->stream != b->stream)
    return handle (naive, a->stream) < handle (naive, b->stream);
  if (a->size != b->size)
    return a->size < b->size;
  if (naive->options.settings.oldest_segment_first && a->born != b->born)
    return a->born < b->born;
  return a->addr < b->addr;
}

typedef struct
{
  uint32_t stream, pool;
  bool is_small;
  uint64_t size;
} Want;

static bool
is_candidate (const NaiveBlock *block, const Want *want)
{
  return block->state == NAIVE_FREE && block->is_mapped && block->pool == want->pool &&
         block->is_small == want->is_small;
}

static int
compare_blocks (gconstpointer a, gconstpointer b, gpointer naive)
{
  return is_before (naive, a, b) ? -1 : is_before (naive, b, a);
}

/* A copy of all candidates in their order. */
static GArray *
candidates (Naive *naive, const Want *want)
{
  GArray *all = g_array_new (FALSE, FALSE, sizeof (NaiveBlock));

  for (guint i = 0; i < naive->blocks->len; i++)
    if (is_candidate (at (naive, i), want))
      g_array_append_val (all, *at (naive, i));
  g_array_sort_with_data (all, compare_blocks, naive);
  return all;
}

static uint64_t
growth (const Naive *naive, guint i)
{
  guint k = neighbour (naive, i, 1);

  return at (naive, i)->size +
         (k != NONE && !at (naive, k)->is_mapped ? at (naive, k)->size : 0);
}

static bool
is_collecting (const Naive *naive)
{
  return naive->options.limit_bytes > 0 &&
         naive->options.settings.garbage_collection_threshold > 0;
}

/* The first of its stream that is large enough, or one behind it that grows less. */
static guint
search (Naive *naive, const Want *want)
{
  const TesseraSettings *settings = &naive->options.settings;
  g_autoptr (GArray) all = candidates (naive, want);
  guint found = NONE;

  naive->n_searches[want->pool][want->is_small] += is_collecting (naive);
  for (guint i = 0; i < all->len; i++)
    {
      const NaiveBlock *block = &g_array_index (all, NaiveBlock, i);
      guint k = find (naive, block->addr, false);

      if (block->stream != want->stream || block->size < want->size)
        continue;
      if (found != NONE &&
          (!settings->is_expandable || growth (naive, k) >= growth (naive, found)))
        break;
      found = k;
    }
  if (found == NONE)
    return NONE;
  if (want->size < settings->max_split_bytes)
    return at (naive, found)->size >= settings->max_split_bytes ? NONE : found;
  return at (naive, found)->size >= want->size + settings->max_non_split_rounding_bytes
             ? NONE
             : found;
}

uint64_t
naive_reserved (const Naive *naive)
{
  uint64_t sum = 0;

  for (guint i = 0; i < naive->blocks->len; i++)
    sum += at (naive, i)->is_mapped ? at (naive, i)->size : 0;
  return sum;
}

static guint
map (Naive *naive, guint i, uint64_t size)
{
  NaiveBlock *block = at (naive, i);
  TesseraDevice *device = &naive->device.device;
  uint64_t end = block->segment;

  while (end < block->addr + size)
    end += block->page;
  size = end - block->addr;
  if (device->map (device, block->addr, size, block->stream) != TESSERA_OK)
    return NONE;
  say (naive, 'm', block->addr, size);
  if (block->born == 0)
    block->born = ++naive->n_segments;
  end = block->addr;
  if (size < block->size)
    cut (naive, i, size);
  at (naive, i)->is_mapped = true;
  join (naive, i);
  for (i = 0; i < naive->blocks->len; i++)
    if (at (naive, i)->is_mapped && at (naive, i)->state == NAIVE_FREE &&
        at (naive, i)->addr <= end && end < at (naive, i)->addr + at (naive, i)->size)
      return i;
  return NONE;
}

static guint
reserve (Naive *naive, const Want *want)
{
  TesseraDevice *device = &naive->device.device;
  NaiveBlock block = { .stream = want->stream,
                       .pool = want->pool,
                       .is_small = want->is_small,
                       .page = want->is_small
                                   ? 2 * MIB
                                   : naive->options.settings.large_segment_bytes };

  if (device->reserve (device, want->stream, block.page, &block.addr, &block.size) !=
      TESSERA_OK)
    return NONE;
  block.segment = block.addr;
  block.end = block.addr + block.size;
  if (block.size < want->size)
    return NONE;
  g_array_append_val (naive->blocks, block);
  return naive->blocks->len - 1;
}

/* The lowest unmapped block whose surroundings have room, or NONE. */
static guint
find_room (const Naive *naive, const Want *want)
{
  guint best = NONE;
  uint64_t best_addr = 0;

  for (guint i = 0; i < naive->blocks->len; i++)
    {
      const NaiveBlock *block = at (naive, i);
      guint start = neighbour (naive, i, -1);
      uint64_t room = 0;

      if (block->is_mapped || block->stream != want->stream ||
          block->pool != want->pool || block->is_small != want->is_small)
        continue;
      if (start == NONE || at (naive, start)->state != NAIVE_FREE)
        start = i;
      for (guint k = start; k != NONE && at (naive, k)->state == NAIVE_FREE;
           k = neighbour (naive, k, 1))
        room += at (naive, k)->size;
      if (room >= want->size && (best == NONE || block->addr < best_addr))
        {
          best = start;
          best_addr = block->addr;
        }
    }
  return best;
}

static guint
expand (Naive *naive, const Want *want)
{
  guint i = find_room (naive, want);

  if (i == NONE)
    i = reserve (naive, want);
  if (i != NONE && !at (naive, i)->is_mapped)
    i = map (naive, i, MIN (at (naive, i)->size, want->size));
  while (i != NONE && at (naive, i)->size < want->size)
    {
      guint k = neighbour (naive, i, 1);

      i = map (naive, k, MIN (at (naive, k)->size, want->size - at (naive, i)->size));
    }
  return i;
}

static guint
ask_device (Naive *naive, const Want *want)
{
  TesseraDevice *device = &naive->device.device;
  NaiveBlock block = { .stream = want->stream,
                       .pool = want->pool,
                       .is_small = want->is_small,
                       .is_mapped = true };

  block.size = tessera_segment_size (&naive->options.settings, want->size);
  if (naive->options.limit_bytes > 0 &&
      naive_reserved (naive) + block.size > naive->options.limit_bytes)
    return NONE;
  if (naive->options.settings.is_expandable)
    return expand (naive, want);
  if (device->allocate (device, block.size, want->stream, &block.addr) != TESSERA_OK)
    return NONE;
  block.segment = block.addr;
  block.born = ++naive->n_segments;
  block.end = block.addr + block.size;
  say (naive, 'a', block.addr, block.size);
  g_array_append_val (naive->blocks, block);
  return naive->blocks->len - 1;
}

static bool
is_whole (const NaiveBlock *block)
{
  return block->page == 0 && block->addr == block->segment &&
         block->addr + block->size == block->end;
}

static void
release (Naive *naive, guint i)
{
  NaiveBlock block = *at (naive, i);

  say (naive, 'f', block.addr, block.size);
  naive->device.device.release (&naive->device.device, block.addr, block.size);
  g_array_remove_index (naive->blocks, i);
}

static void
unmap (Naive *naive, guint i)
{
  NaiveBlock block = *at (naive, i);
  uint64_t first = block.segment, last = block.segment;

  while (first < block.addr)
    first += block.page;
  while (last + block.page <= block.addr + block.size)
    last += block.page;
  if (first >= last)
    return;
  if (last < block.addr + block.size)
    cut (naive, i, last - block.addr);
  stamp (naive, i);
  if (first > block.addr)
    i = cut (naive, i, first - block.addr);
  at (naive, i)->is_mapped = false;
  say (naive, 'u', first, last - first);
  naive->device.device.unmap (&naive->device.device, first, last - first);
  join (naive, i);
  for (i = 0; i < naive->blocks->len; i++)
    if (at (naive, i)->segment == block.segment && !at (naive, i)->is_mapped &&
        at (naive, i)->addr == block.segment &&
        at (naive, i)->addr + at (naive, i)->size == at (naive, i)->end)
      {
        g_array_remove_index (naive->blocks, i);
        return;
      }
}

static void
flush_pool (Naive *naive, uint32_t pool, bool is_small)
{
  Want want = { .pool = pool, .is_small = is_small };
  g_autoptr (GArray) all = candidates (naive, &want);

  for (int pass = 0; pass < 2; pass++)
    for (guint i = 0; i < all->len; i++)
      {
        const NaiveBlock *block = &g_array_index (all, NaiveBlock, i);

        if (pass == 0 && is_whole (block))
          release (naive, find (naive, block->addr, false));
        else if (pass == 1 && block->page != 0)
          unmap (naive, find (naive, block->addr, false));
      }
}

void
naive_empty_cache (Naive *naive)
{
  while (naive->waiting->len > 0)
    naive_free_completed (naive, g_array_index (naive->waiting, uint64_t, 0));
  flush_pool (naive, 0, false);
  flush_pool (naive, 0, true);
  for (uint32_t pool = 1; pool < G_N_ELEMENTS (naive->is_unused); pool++)
    if (naive->is_unused[pool])
      {
        flush_pool (naive, pool, true);
        flush_pool (naive, pool, false);
      }
}

static void
collect_garbage (Naive *naive)
{
  const Want want = { .pool = 0, .is_small = false };
  uint64_t keep = (uint64_t) (naive->options.settings.garbage_collection_threshold *
                              (double) naive->options.limit_bytes);
  uint64_t reserved = naive_reserved (naive), freed = 0;
  bool goes_on = reserved > keep;

  while (goes_on && freed < reserved - keep)
    {
      g_autoptr (GArray) all = candidates (naive, &want);
      double sum = 0, n = 0;

      goes_on = false;
      for (guint i = 0; i < all->len; i++)
        if (is_whole (&g_array_index (all, NaiveBlock, i)))
          {
            sum += (double) (naive->n_searches[0][0] -
                             g_array_index (all, NaiveBlock, i).stamp);
            n++;
          }
      for (guint i = 0; i < all->len; i++)
        {
          const NaiveBlock *block = &g_array_index (all, NaiveBlock, i);

          if (!is_whole (block) ||
              (double) (naive->n_searches[0][0] - block->stamp) < sum / n)
            continue;
          freed += block->size;
          release (naive, find (naive, block->addr, false));
          goes_on = true;
        }
    }
}

static bool
release_available (Naive *naive, const Want *want)
{
  uint64_t oversize = naive->options.settings.max_split_bytes;
  uint64_t key = MAX (want->size, oversize), sum = 0;

  if (oversize == UINT64_MAX)
    return false;
  g_autoptr (GArray) all = candidates (naive, want);
  for (guint i = 0; i < all->len; i++)
    {
      const NaiveBlock *block = &g_array_index (all, NaiveBlock, i);

      if (block->stream != want->stream || block->size < key)
        continue;
      if (block->page == 0)
        {
          release (naive, find (naive, block->addr, false));
          sum = key;
        }
      break;
    }
  for (guint i = all->len; i-- > 0 && sum < key;)
    {
      const NaiveBlock *block = &g_array_index (all, NaiveBlock, i);

      if (block->stream == want->stream && block->size < key && block->size >= oversize &&
          block->page == 0)
        {
          sum += block->size;
          release (naive, find (naive, block->addr, false));
        }
    }
  return sum >= key;
}

static guint
obtain (Naive *naive, const Want *want)
{
  if (is_collecting (naive))
    collect_garbage (naive);
  guint i = ask_device (naive, want);
  if (i == NONE && release_available (naive, want))
    i = ask_device (naive, want);
  if (i == NONE && want->pool == 0 && !naive->is_routed)
    {
      naive_empty_cache (naive);
      naive->n_retries++;
      i = ask_device (naive, want);
    }
  return i;
}

TesseraStatus
naive_malloc (
    Naive *naive, uint64_t size, uint32_t stream, uint32_t pool, TesseraGrant *out_grant)
{
  const TesseraSettings *settings = &naive->options.settings;
  Want want = { .stream = stream, .pool = pool };

  *out_grant = (TesseraGrant){ 0 };
  want.size = tessera_round_size (settings, size);
  want.is_small = want.size <= MIB;
  naive->is_unused[pool] = false;
  guint i = search (naive, &want);
  if (i == NONE)
    i = obtain (naive, &want);
  if (i == NONE)
    return TESSERA_OUT_OF_DEVICE;
  uint64_t rest = at (naive, i)->size - want.size;
  if (want.is_small || settings->is_expandable
          ? rest >= 512
          : want.size < settings->max_split_bytes && rest > MIB)
    cut (naive, i, want.size);
  at (naive, i)->state = NAIVE_LIVE;
  at (naive, i)->requested = size;
  *out_grant = (TesseraGrant){ at (naive, i)->addr, at (naive, i)->size };
  return TESSERA_OK;
}

void
naive_free_requested (Naive *naive, uint64_t addr)
{
  at (naive, find (naive, addr, true))->state = NAIVE_PENDING;
  g_array_append_val (naive->waiting, addr);
}

void
naive_free_completed (Naive *naive, uint64_t addr)
{
  guint i = find (naive, addr, true);

  for (guint k = 0; k < naive->waiting->len; k++)
    if (g_array_index (naive->waiting, uint64_t, k) == addr)
      {
        g_array_remove_index (naive->waiting, k);
        break;
      }
  at (naive, i)->state = NAIVE_FREE;
  join (naive, i);
}
