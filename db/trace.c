/*
 * A trace in memory: its arrays and what is looked up in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/trace.h"

#include <stdlib.h>
#include <string.h>

#include "db/array.h"
#include "db/hash.h"
#include "db/intern.h"

#define MIB ((uint64_t) 1 << 20)
#define BLOCK_BYTES 512                            /* PyTorch rounds up to it */
#define MOST_OF_SEGMENT_BYTES ((uint64_t) 1 << 50) /* no device has as much */

void
tessera_settings_default (TesseraSettings *settings)
{
  memset (settings, 0, sizeof *settings);
  settings->max_split_bytes = UINT64_MAX;
  settings->max_non_split_rounding_bytes = 20 * MIB;
  settings->large_segment_bytes = 20 * MIB;
}

bool
tessera_settings_make_sense (const TesseraSettings *settings)
{
  return settings->large_segment_bytes > 0 &&
         settings->large_segment_bytes <= MOST_OF_SEGMENT_BYTES &&
         settings->large_segment_bytes % BLOCK_BYTES == 0;
}

TesseraStatus
tessera_trace_new (TesseraTrace **out_trace)
{
  TesseraTrace *trace = calloc (1, sizeof *trace);
  uint16_t first;

  *out_trace = NULL;
  if (!trace)
    return TESSERA_NO_MEMORY;
  tessera_settings_default (&trace->settings);
  trace->alignment_bytes = 512;
  trace->source = strdup ("");
  trace->frame_table = calloc (1, sizeof (TesseraIndex));
  trace->stack_table = calloc (1, sizeof (TesseraIndex));
  if (!trace->source || !trace->frame_table || !trace->stack_table ||
      tessera_strings_new (&trace->strings) != TESSERA_OK ||
      !TESSERA_RESERVE (trace->stack_begin, trace->cap_stacks, 1) ||
      tessera_trace_add_stream (trace, 0, &first) != TESSERA_OK ||
      tessera_trace_add_pool (trace, (TesseraPoolId){ 0 }, &first) != TESSERA_OK)
    {
      tessera_trace_free (trace);
      return TESSERA_NO_MEMORY;
    }
  trace->stack_begin[0] = 0;
  *out_trace = trace;
  return TESSERA_OK;
}

void
tessera_held_clear (TesseraHeld *held)
{
  free (held->segments);
  free (held->blocks);
  *held = (TesseraHeld){ 0 };
}

void
tessera_trace_free (TesseraTrace *trace)
{
  if (!trace)
    return;
  for (size_t i = 0; i < trace->n_meta; i++)
    {
      free (trace->meta[i].key);
      free (trace->meta[i].value);
    }
  if (trace->frame_table)
    tessera_index_clear (trace->frame_table);
  if (trace->stack_table)
    tessera_index_clear (trace->stack_table);
  tessera_held_clear (&trace->start);
  tessera_held_clear (&trace->end);
  tessera_strings_free (trace->strings);
  free (trace->source);
  free (trace->devices);
  free (trace->meta);
  free (trace->events);
  free (trace->streams);
  free (trace->pools);
  free (trace->frames);
  free (trace->stack_frames);
  free (trace->stack_begin);
  free (trace->ranges);
  free (trace->tensors);
  free (trace->frame_table);
  free (trace->stack_table);
  free (trace);
}

#define APPEND(array, n, cap, item)                                                      \
  if (!TESSERA_RESERVE (array, cap, (n) + 1))                                            \
    return TESSERA_NO_MEMORY;                                                            \
  (array)[(n)++] = (item);                                                               \
  return TESSERA_OK

TesseraStatus
tessera_trace_add_event (TesseraTrace *trace, const TesseraEvent *event)
{
  if (trace->n_events >= TESSERA_MAX_EVENTS)
    return TESSERA_BAD_INPUT;
  APPEND (trace->events, trace->n_events, trace->cap_events, *event);
}

TesseraStatus
tessera_trace_add_segment (TesseraHeld *held, const TesseraSegment *segment)
{
  APPEND (held->segments, held->n_segments, held->cap_segments, *segment);
}

TesseraStatus
tessera_trace_add_block (TesseraHeld *held, const TesseraHeldBlock *block)
{
  APPEND (held->blocks, held->n_blocks, held->cap_blocks, *block);
}

TesseraStatus
tessera_trace_add_range (TesseraTrace *trace, const TesseraRange *range)
{
  if (trace->n_ranges >= TESSERA_NONE)
    return TESSERA_BAD_INPUT;
  APPEND (trace->ranges, trace->n_ranges, trace->cap_ranges, *range);
}

TesseraStatus
tessera_trace_add_tensor (TesseraTrace *trace, const TesseraTensor *tensor)
{
  if (trace->n_tensors >= TESSERA_NONE ||
      (trace->n_tensors > 0 &&
       tensor->event_index < trace->tensors[trace->n_tensors - 1].event_index))
    return TESSERA_BAD_INPUT;
  APPEND (trace->tensors, trace->n_tensors, trace->cap_tensors, *tensor);
}

TesseraStatus
tessera_trace_add_device (TesseraTrace *trace, const TesseraDeviceInfo *device)
{
  APPEND (trace->devices, trace->n_devices, trace->cap_devices, *device);
}

TesseraStatus
tessera_trace_set_source (TesseraTrace *trace, const char *path)
{
  const char *slash = strrchr (path, '/');
  char *source = strdup (slash ? slash + 1 : path);

  if (!source)
    return TESSERA_NO_MEMORY;
  free (trace->source);
  trace->source = source;
  return TESSERA_OK;
}

static TesseraMeta *
find_meta (const TesseraTrace *trace, const char *key)
{
  for (size_t i = 0; i < trace->n_meta; i++)
    if (strcmp (trace->meta[i].key, key) == 0)
      return &trace->meta[i];
  return NULL;
}

TesseraStatus
tessera_trace_set_meta (TesseraTrace *trace, const char *key, const char *value)
{
  TesseraMeta *meta = find_meta (trace, key);
  char *new_value = strdup (value);
  char *new_key;

  if (!new_value)
    return TESSERA_NO_MEMORY;
  if (strcmp (key, "pytorch") == 0)
    trace->settings.oldest_segment_first = strcmp (value, TESSERA_PYTORCH_2_13) == 0;
  if (meta)
    {
      free (meta->value);
      meta->value = new_value;
      return TESSERA_OK;
    }
  new_key = strdup (key);
  if (!new_key || !TESSERA_RESERVE (trace->meta, trace->cap_meta, trace->n_meta + 1))
    {
      free (new_key);
      free (new_value);
      return TESSERA_NO_MEMORY;
    }
  trace->meta[trace->n_meta++] = (TesseraMeta){ .key = new_key, .value = new_value };
  return TESSERA_OK;
}

bool
tessera_trace_has_streams (const TesseraTrace *trace)
{
  return trace->n_streams > 1 || tessera_trace_get_meta (trace, "makes_streams") != NULL;
}

const char *
tessera_trace_get_meta (const TesseraTrace *trace, const char *key)
{
  const TesseraMeta *meta = find_meta (trace, key);

  return meta ? meta->value : NULL;
}

uint64_t
tessera_trace_get_number (const TesseraTrace *trace, const char *key)
{
  const char *text = tessera_trace_get_meta (trace, key);

  return text ? strtoull (text, NULL, 10) : 0;
}

TesseraStatus
tessera_trace_intern (TesseraTrace *trace,
                      const char *text,
                      size_t n_bytes,
                      uint32_t *out_string)
{
  return tessera_strings_intern (trace->strings, text, n_bytes, out_string);
}

const char *
tessera_trace_string (const TesseraTrace *trace, uint32_t string)
{
  return tessera_strings_get (trace->strings, string);
}

size_t
tessera_trace_n_strings (const TesseraTrace *trace)
{
  return tessera_strings_count (trace->strings);
}

/* A trace has a handful of streams and pools, nearly always that of the event before:
 * looked for from the newest on. */
TesseraStatus
tessera_trace_add_stream (TesseraTrace *trace, uint64_t handle, uint16_t *out_stream)
{
  for (size_t i = trace->n_streams; i-- > 0;)
    if (trace->streams[i] == handle)
      {
        *out_stream = (uint16_t) i;
        return TESSERA_OK;
      }
  if (trace->n_streams > UINT16_MAX)
    return TESSERA_BAD_INPUT;
  *out_stream = (uint16_t) trace->n_streams;
  APPEND (trace->streams, trace->n_streams, trace->cap_streams, handle);
}

TesseraStatus
tessera_trace_add_pool (TesseraTrace *trace, TesseraPoolId id, uint16_t *out_pool)
{
  for (size_t i = trace->n_pools; i-- > 0;)
    if (trace->pools[i].owner_id == id.owner_id && trace->pools[i].user_id == id.user_id)
      {
        *out_pool = (uint16_t) i;
        return TESSERA_OK;
      }
  if (trace->n_pools > UINT16_MAX)
    return TESSERA_BAD_INPUT;
  *out_pool = (uint16_t) trace->n_pools;
  APPEND (trace->pools, trace->n_pools, trace->cap_pools, id);
}

static uint64_t
hash_held (uint64_t hash, const TesseraHeld *held)
{
  hash = tessera_hash_number (hash, held->n_blocks);
  for (size_t i = 0; i < held->n_blocks; i++)
    {
      hash = tessera_hash_number (hash, held->blocks[i].size_bytes);
      hash = tessera_hash_number (hash, held->blocks[i].state);
    }
  return hash;
}

uint64_t
tessera_trace_fingerprint (const TesseraTrace *trace)
{
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, trace->alignment_bytes);

  hash = hash_held (hash, &trace->start);
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      hash = tessera_hash_number (hash, event->size_bytes);
      hash = tessera_hash_number (hash, (uint64_t) event->stream << 32 |
                                            (uint64_t) event->pool << 16 | event->action);
    }
  return hash;
}

const char *
tessera_action_name (uint8_t action)
{
  static const char *const names[] = { [TESSERA_ALLOC] = "alloc",
                                       [TESSERA_FREE_REQUESTED] = "free_requested",
                                       [TESSERA_FREE_COMPLETED] = "free_completed",
                                       [TESSERA_SEGMENT_ALLOC] = "segment_alloc",
                                       [TESSERA_SEGMENT_FREE] = "segment_free",
                                       [TESSERA_SEGMENT_MAP] = "segment_map",
                                       [TESSERA_SEGMENT_UNMAP] = "segment_unmap",
                                       [TESSERA_OOM] = "oom",
                                       [TESSERA_SNAPSHOT] = "snapshot",
                                       [TESSERA_MARK] = "mark" };

  return action >= TESSERA_ALLOC && action <= TESSERA_MARK ? names[action] : "unknown";
}

#define COMPARE(a, b) ((a) < (b) ? -1 : (a) > (b))

static int
compare_segments (const void *left, const void *right)
{
  const TesseraSegment *a = left, *b = right;
  int order = COMPARE (a->addr, b->addr);

  return order ? order : COMPARE (a->size_bytes, b->size_bytes);
}

static int
compare_blocks (const void *left, const void *right)
{
  const TesseraHeldBlock *a = left, *b = right;
  int order = COMPARE (a->addr, b->addr);

  return order ? order : COMPARE (a->block_bytes, b->block_bytes);
}

void
tessera_held_sort (TesseraHeld *held)
{
  if (held->n_segments > 0)
    qsort (held->segments, held->n_segments, sizeof *held->segments, compare_segments);
  if (held->n_blocks > 0)
    qsort (held->blocks, held->n_blocks, sizeof *held->blocks, compare_blocks);
}

size_t
tessera_held_first (const TesseraHeld *held, uint64_t addr)
{
  size_t begin = 0, end = held->n_blocks;

  while (begin < end)
    {
      size_t middle = begin + (end - begin) / 2;

      if (held->blocks[middle].addr < addr)
        begin = middle + 1;
      else
        end = middle;
    }
  return begin;
}

size_t
tessera_held_find (const TesseraHeld *held, uint64_t addr)
{
  size_t at = tessera_held_first (held, addr);

  return at < held->n_blocks && held->blocks[at].addr == addr ? at : held->n_blocks;
}

typedef struct
{
  const uint32_t *frames;
  size_t n_frames;
} WantedStack;

static bool
frame_equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraTrace *trace = owner;
  const TesseraFrame *frame = &trace->frames[index], *want = wanted;

  return frame->name == want->name && frame->file == want->file &&
         frame->line == want->line;
}

TesseraStatus
tessera_trace_add_frame (TesseraTrace *trace,
                         const TesseraFrame *frame,
                         uint32_t *out_frame)
{
  TesseraIndex *index = trace->frame_table;
  uint64_t hash = tessera_hash_number (TESSERA_HASH_START, frame->name);
  uint32_t found;

  hash = tessera_hash_number (hash, frame->file);
  hash = tessera_hash_number (hash, (uint64_t) frame->line);
  found = tessera_index_find (index, hash, frame_equal, trace, frame);
  if (found == TESSERA_NONE)
    {
      if (trace->n_frames >= TESSERA_NONE)
        return TESSERA_BAD_INPUT;
      if (!TESSERA_RESERVE (trace->frames, trace->cap_frames, trace->n_frames + 1) ||
          !tessera_index_reserve (index))
        return TESSERA_NO_MEMORY;
      found = (uint32_t) trace->n_frames;
      trace->frames[trace->n_frames++] = *frame;
      tessera_index_insert (index, hash, found);
    }
  *out_frame = found;
  return TESSERA_OK;
}

static bool
stack_equal (const void *owner, uint32_t index, const void *wanted)
{
  const TesseraTrace *trace = owner;
  const WantedStack *want = wanted;
  uint32_t begin = trace->stack_begin[index];

  return trace->stack_begin[index + 1] - begin == want->n_frames &&
         (want->n_frames == 0 || memcmp (trace->stack_frames + begin, want->frames,
                                         want->n_frames * sizeof *want->frames) == 0);
}

/* stack_begin has one entry more than there are stacks: the end of the last. */
static TesseraStatus
append_stack (TesseraTrace *trace, const WantedStack *stack)
{
  size_t n_frames;

  if (trace->n_stacks >= TESSERA_NONE - 1 ||
      __builtin_add_overflow (trace->n_stack_frames, stack->n_frames, &n_frames) ||
      n_frames > UINT32_MAX)
    return TESSERA_BAD_INPUT;
  if (!TESSERA_RESERVE (trace->stack_frames, trace->cap_stack_frames, n_frames) ||
      !TESSERA_RESERVE (trace->stack_begin, trace->cap_stacks, trace->n_stacks + 2))
    return TESSERA_NO_MEMORY;
  if (stack->n_frames)
    memcpy (trace->stack_frames + trace->n_stack_frames, stack->frames,
            stack->n_frames * sizeof *stack->frames);
  trace->n_stack_frames = n_frames;
  trace->stack_begin[trace->n_stacks + 1] = (uint32_t) n_frames;
  trace->n_stacks++;
  return TESSERA_OK;
}

TesseraStatus
tessera_trace_add_stack (TesseraTrace *trace,
                         const uint32_t *frames,
                         size_t n_frames,
                         uint32_t *out_stack)
{
  TesseraIndex *index = trace->stack_table;
  WantedStack wanted = { .frames = frames, .n_frames = n_frames };
  uint64_t hash = TESSERA_HASH_START;
  uint32_t found;

  for (size_t i = 0; i < n_frames; i++)
    hash = (hash ^ frames[i]) * TESSERA_HASH_PRIME;
  found = tessera_index_find (index, hash, stack_equal, trace, &wanted);
  if (found == TESSERA_NONE)
    {
      TesseraStatus status;

      if (!tessera_index_reserve (index))
        return TESSERA_NO_MEMORY;
      status = append_stack (trace, &wanted);
      if (status != TESSERA_OK)
        return status;
      found = (uint32_t) trace->n_stacks - 1;
      tessera_index_insert (index, hash, found);
    }
  *out_stack = found;
  return TESSERA_OK;
}

/* Outer before inner; the last two keys only make the order the same in every run. */
static int
compare_ranges (const void *left, const void *right)
{
  const TesseraRange *a = left, *b = right;
  int order = COMPARE (a->begin_index, b->begin_index);

  if (!order)
    order = COMPARE (a->begin_ns, b->begin_ns);
  if (!order)
    order = COMPARE (b->end_index, a->end_index);
  if (!order)
    order = COMPARE (b->end_ns, a->end_ns);
  if (!order)
    order = COMPARE (a->kind, b->kind);
  if (!order)
    order = COMPARE (a->name, b->name);
  return order ? order : COMPARE (a->is_inferred, b->is_inferred);
}

/* @inner does not begin before @outer. A range without events lies inside another only if
 * the nanoseconds say so, or the outer one goes on after it. */
static bool
contains (const TesseraRange *outer, const TesseraRange *inner)
{
  return inner->end_index <= outer->end_index && inner->end_ns <= outer->end_ns &&
         (inner->begin_index < outer->end_index || inner->begin_ns < outer->end_ns);
}

void
tessera_trace_settle_ranges (TesseraTrace *trace)
{
  TesseraRange *ranges = trace->ranges;

  if (trace->n_ranges == 0)
    return;
  qsort (ranges, trace->n_ranges, sizeof *ranges, compare_ranges);
  /* Whoever encloses range i encloses range i - 1 too, or is it: climbing from there
   * passes each link once in all. Ranges that overlap without nesting stay true to this:
   * what begins later and lies inside the earlier one lies inside the later one too. */
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      uint32_t parent = i ? (uint32_t) i - 1 : TESSERA_NONE;

      while (parent != TESSERA_NONE && !contains (&ranges[parent], &ranges[i]))
        parent = ranges[parent].parent;
      ranges[i].parent = parent;
    }
}
