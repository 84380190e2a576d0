/*
 * A trace as the snapshot that PyTorch would have written: a pickle for its viewer
 * (pytorch.org/memory_viz), for torch/cuda/_memory_viz.py and for whatever else reads them.
 *
 * Protocol 2 and opcodes that the viewer knows. What is the same (a stack, a frame, a
 * text) is written once and named by its number from then on; lists are filled a thousand
 * items at a time, since the viewer passes what lies on its stack as arguments.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/study.h"
#include "db/output.h"

#define BATCH_ITEMS 1000

typedef struct
{
  FILE *file;
  const TesseraTrace *trace;
  guint32 n_named;            /* objects that have a number */
  GHashTable *number_of_text; /* all from 1 on: 0 is no number */
  guint32 *number_of_frame, *number_of_stack;
} Pickle;

static void
put_bytes (Pickle *pickle, guint64 bytes, size_t n)
{
  for (size_t i = 0; i < n; i++)
    putc ((int) (bytes >> (8 * i) & 0xff), pickle->file);
}

/* @codes are opcodes. */
static void
put (Pickle *pickle, const char *codes)
{
  fputs (codes, pickle->file);
}

/* Numbers the object on top. */
static guint32
put_name (Pickle *pickle)
{
  put (pickle, "r");
  put_bytes (pickle, ++pickle->n_named, 4);
  return pickle->n_named;
}

/* Returns: whether the object has a number, and so was put. */
static gboolean
put_known (Pickle *pickle, guint32 number)
{
  if (number == 0)
    return FALSE;
  put (pickle, "j");
  put_bytes (pickle, number, 4);
  return TRUE;
}

/* @text lives as long as the pickle. */
static void
put_text (Pickle *pickle, const char *text)
{
  if (put_known (pickle,
                 GPOINTER_TO_UINT (g_hash_table_lookup (pickle->number_of_text, text))))
    return;
  put (pickle, "X");
  put_bytes (pickle, strlen (text), 4);
  fputs (text, pickle->file);
  g_hash_table_insert (pickle->number_of_text, (void *) text,
                       GUINT_TO_POINTER (put_name (pickle)));
}

/* Whole numbers are signed: one with the highest bit set takes another byte. */
static void
put_number (Pickle *pickle, guint64 number)
{
  size_t n = 1;

  if (number <= G_MAXINT32)
    {
      put (pickle, "J");
      put_bytes (pickle, number, 4);
      return;
    }
  while (n < 8 && number >> (8 * n - 1) != 0)
    n++;
  n += n == 8 && number >> 63 != 0;
  put (pickle, "\x8a");
  put_bytes (pickle, n, 1);
  put_bytes (pickle, number, MIN (n, 8));
  put_bytes (pickle, 0, n - MIN (n, 8));
}

static void
put_signed (Pickle *pickle, gint64 number)
{
  if (number >= 0)
    {
      put_number (pickle, (guint64) number);
      return;
    }
  put (pickle, "\x8a");
  put_bytes (pickle, 8, 1);
  put_bytes (pickle, (guint64) number, 8);
}

/* A member of a dict. */
#define put_member(pickle, key, value)                                                   \
  (put_text (pickle, key),                                                               \
   _Generic ((value), const char *: put_text, char *: put_text, gint64: put_signed,      \
             default: put_number) (pickle, value))

static void
put_key_bool (Pickle *pickle, const char *key, gboolean value)
{
  put_text (pickle, key);
  put (pickle, value ? "\x88" : "\x89");
}

static void
put_key_pool (Pickle *pickle, const char *key, guint16 pool)
{
  put_text (pickle, key);
  put_number (pickle, pickle->trace->pools[pool].owner_id);
  put_number (pickle, pickle->trace->pools[pool].user_id);
  put (pickle, "\x86");
}

/* After an item of a list of @n. */
static void
put_batch (Pickle *pickle, size_t i, size_t n)
{
  if (i % BATCH_ITEMS == BATCH_ITEMS - 1 && i + 1 < n)
    put (pickle, "e(");
}

static void
put_frame (Pickle *pickle, guint32 index)
{
  const TesseraFrame *frame = &pickle->trace->frames[index];

  if (put_known (pickle, pickle->number_of_frame[index]))
    return;
  put (pickle, "}(");
  put_member (pickle, "name", tessera_trace_string (pickle->trace, frame->name));
  put_member (pickle, "filename", tessera_trace_string (pickle->trace, frame->file));
  put_member (pickle, "line", frame->line);
  put (pickle, "u");
  pickle->number_of_frame[index] = put_name (pickle);
}

/* A list also where there is no stack: the viewer asks for its length. */
static void
put_stack (Pickle *pickle, guint32 stack)
{
  const TesseraTrace *trace = pickle->trace;

  put_text (pickle, "frames");
  if (stack == TESSERA_NONE)
    {
      put (pickle, "]");
      return;
    }
  if (put_known (pickle, pickle->number_of_stack[stack]))
    return;
  put (pickle, "](");
  for (guint32 i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    put_frame (pickle, trace->stack_frames[i]);
  put (pickle, "e");
  pickle->number_of_stack[stack] = put_name (pickle);
}

static gint64
floor_us (gint64 ns)
{
  return ns / 1000 - (ns % 1000 < 0);
}

static void
put_event (Pickle *pickle, const TesseraEvent *event)
{
  gboolean is_mark = event->action == TESSERA_MARK;

  put (pickle, "}(");
  put_member (pickle, "action",
              is_mark ? "user_defined" : tessera_action_name (event->action));
  put_member (pickle, event->action == TESSERA_OOM ? "device_free" : "addr", event->addr);
  put_member (pickle, "size", event->size_bytes);
  put_member (pickle, "stream", pickle->trace->streams[event->stream]);
  if (pickle->trace->has_time)
    put_member (pickle, "time_us", floor_us (event->at_ns));
  if (event->pool_known)
    put_key_pool (pickle, "pool_id", event->pool);
  put_stack (pickle, event->stack);
  put (pickle, "u");
}

/* Devices before the trace's own have none. */
static void
put_events (Pickle *pickle)
{
  const TesseraTrace *trace = pickle->trace;

  put_text (pickle, "device_traces");
  put (pickle, "](");
  for (guint32 device = 0; device < trace->device; device++)
    put (pickle, "]");
  put (pickle, "](");
  for (size_t i = 0; i < trace->n_events; i++)
    {
      put_event (pickle, &trace->events[i]);
      put_batch (pickle, i, trace->n_events);
    }
  put (pickle, "ee");
}

static void
put_block (Pickle *pickle, const TesseraHeldBlock *block)
{
  static const char *const states[] = { [TESSERA_BLOCK_FREE] = "inactive",
                                        [TESSERA_BLOCK_PENDING] = "active_pending_free",
                                        [TESSERA_BLOCK_LIVE] = "active_allocated" };

  put (pickle, "}(");
  put_member (pickle, "address", block->addr);
  put_member (pickle, "size", block->block_bytes);
  put_member (pickle, "requested_size", block->size_bytes);
  put_member (pickle, "state", states[block->state]);
  put_stack (pickle, block->stack);
  put (pickle, "u");
}

static void
put_free (Pickle *pickle, guint64 begin, guint64 end)
{
  if (begin < end)
    put_block (pickle, &(TesseraHeldBlock){ .addr = begin,
                                            .block_bytes = end - begin,
                                            .stack = TESSERA_NONE });
}

/* The blocks in the segment, from @first on, with what is free between them: the sizes of
 * a segment's blocks sum to its own, or _memory_viz.py ends. Returns: the first behind */
static size_t
put_blocks (Pickle *pickle,
            const TesseraHeld *held,
            const TesseraSegment *segment,
            size_t first)
{
  guint64 at = segment->addr, end = segment->addr + segment->size_bytes;
  guint64 sums[TESSERA_BLOCK_LIVE + 1] = { 0 }, requested_bytes = 0;
  size_t i = first;

  while (i < held->n_blocks && held->blocks[i].addr < at)
    i++;
  put_text (pickle, "blocks");
  put (pickle, "](");
  for (first = i; i < held->n_blocks && held->blocks[i].addr < end; i++)
    {
      const TesseraHeldBlock *block = &held->blocks[i];

      put_free (pickle, at, block->addr);
      put_block (pickle, block);
      at = block->addr + block->block_bytes;
      sums[block->state] += block->block_bytes;
      requested_bytes += block->size_bytes;
      put_batch (pickle, i - first, held->n_blocks);
    }
  put_free (pickle, at, end);
  put (pickle, "e");
  put_member (pickle, "allocated_size", sums[TESSERA_BLOCK_LIVE]);
  put_member (pickle, "active_size",
              sums[TESSERA_BLOCK_LIVE] + sums[TESSERA_BLOCK_PENDING]);
  put_member (pickle, "requested_size", requested_bytes);
  return i;
}

static void
put_segments (Pickle *pickle, const TesseraHeld *held)
{
  size_t block = 0;

  put_text (pickle, "segments");
  put (pickle, "](");
  for (size_t i = 0; i < held->n_segments; i++)
    {
      const TesseraSegment *segment = &held->segments[i];

      put (pickle, "}(");
      put_member (pickle, "device", pickle->trace->device);
      put_member (pickle, "address", segment->addr);
      put_member (pickle, "total_size", segment->size_bytes);
      put_member (pickle, "stream", pickle->trace->streams[segment->stream]);
      put_member (pickle, "segment_type", segment->is_small ? "small" : "large");
      put_key_pool (pickle, "segment_pool_id", segment->pool);
      put_key_bool (pickle, "is_expandable", segment->is_expandable);
      put_stack (pickle, segment->stack);
      block = put_blocks (pickle, held, segment, block);
      put (pickle, "u");
      put_batch (pickle, i, held->n_segments);
    }
  put (pickle, "e");
}

static void
put_settings (Pickle *pickle)
{
  const TesseraSettings *settings = &pickle->trace->settings;
  const char *conf = tessera_trace_get_meta (pickle->trace, "alloc_conf");
  guint64 bits;
  g_autofree char *conf_text = g_strdup_printf (
      "max_non_split_rounding_mb:%" G_GUINT64_FORMAT
      ",large_segment_size_mb:%" G_GUINT64_FORMAT,
      settings->max_non_split_rounding_bytes >> 20, settings->large_segment_bytes >> 20);

  put_text (pickle, "allocator_settings");
  put (pickle, "}(");
  /* Two settings have no key of their own. */
  put_member (pickle, "PYTORCH_CUDA_ALLOC_CONF",
              conf != NULL ? conf : g_intern_string (conf_text));
  put_member (pickle, "max_split_size", (gint64) settings->max_split_bytes);
  put_text (pickle, "garbage_collection_threshold");
  put (pickle, "G");
  memcpy (&bits, &settings->garbage_collection_threshold, sizeof bits);
  put_bytes (pickle, GUINT64_SWAP_LE_BE (bits), 8);
  put_key_bool (pickle, "expandable_segments", settings->is_expandable);
  if (settings->oldest_segment_first) /* by which 2.13 and newer are known */
    put_member (pickle, "max_cached_size", (gint64) -1);
  put_text (pickle, "roundup_power2_divisions");
  put (pickle, "}(");
  for (size_t i = 0; i < G_N_ELEMENTS (settings->roundup_divisions); i++)
    {
      char mib[8];
      g_snprintf (mib, sizeof mib, "%u", 1u << i);
      put_member (pickle, g_intern_string (mib), settings->roundup_divisions[i]);
    }
  put (pickle, "uu");
}

/* Not of modules: read again, each would be a phase. */
static void
put_annotation (Pickle *pickle, const TesseraRange *range, const char *stage, gint64 ns)
{
  if (range->kind == TESSERA_RANGE_MODULE)
    return;
  put (pickle, "}(");
  put_member (pickle, "stage", stage);
  put_member (pickle, "name", tessera_trace_string (pickle->trace, range->name));
  put_member (pickle, "device", pickle->trace->device);
  put_member (pickle, "time_us", floor_us (ns));
  put (pickle, "u");
}

/* Each range ends before the next that does not lie in it. */
static void
put_ends (Pickle *pickle, guint32 open, guint32 until)
{
  for (; open != until && open != TESSERA_NONE; open = pickle->trace->ranges[open].parent)
    put_annotation (pickle, &pickle->trace->ranges[open], "END",
                    pickle->trace->ranges[open].end_ns);
}

static void
put_annotations (Pickle *pickle)
{
  const TesseraTrace *trace = pickle->trace;
  size_t n = trace->has_time ? trace->n_ranges : 0;
  guint32 open = TESSERA_NONE;

  put_text (pickle, "external_annotations");
  put (pickle, "](");
  for (size_t i = 0; i < n; i++)
    {
      put_ends (pickle, open, trace->ranges[i].parent);
      put_annotation (pickle, &trace->ranges[i], "START", trace->ranges[i].begin_ns);
      open = (guint32) i;
      put_batch (pickle, i, SIZE_MAX);
    }
  put_ends (pickle, open, TESSERA_NONE);
  put (pickle, "e");
}

/* What is mapped side by side is one segment of PyTorch's. */
static void
join_segments (TesseraHeld *held)
{
  size_t n = 0;

  for (size_t i = 0; i < held->n_segments; i++)
    {
      const TesseraSegment *segment = &held->segments[i];
      TesseraSegment *last = n > 0 ? &held->segments[n - 1] : NULL;

      if (last != NULL && last->is_expandable && segment->is_expandable &&
          last->addr + last->size_bytes == segment->addr &&
          last->stream == segment->stream && last->pool == segment->pool &&
          last->is_small == segment->is_small)
        last->size_bytes += segment->size_bytes;
      else
        held->segments[n++] = *segment;
    }
  held->n_segments = n;
}

/* Where the file does not say what was reserved at its end: a run that was killed. */
static void
find_segments (const TesseraLayout *layout, TesseraHeld *held)
{
  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[i];
      const TesseraSegment segment = { .addr = span->addr,
                                       .size_bytes = span->size_bytes,
                                       .stack = TESSERA_NONE,
                                       .stream = span->stream,
                                       .pool = span->pool,
                                       .is_small = span->is_small,
                                       .is_expandable =
                                           span->is_expandable || span->is_plan_pool };

      if (span->died_index >= layout->n_events)
        cli_must (tessera_trace_add_segment (held, &segment));
    }
}

/* What libtessera recorded has no stacks of the blocks at its end: their events have. */
static void
find_blocks (const CliStudy *study, TesseraHeld *held)
{
  for (size_t i = 0; i < study->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &study->blocks->blocks[i];
      gboolean is_live = block->freed_index >= study->blocks->n_events;
      const TesseraHeldBlock found = {
        .addr = study->layout->addr[i],
        .size_bytes = block->size_bytes,
        .block_bytes = study->layout->block_bytes[i],
        .stack = block->stack,
        .state = is_live ? TESSERA_BLOCK_LIVE : TESSERA_BLOCK_PENDING,
      };

      if (block->died_index >= study->blocks->n_events && found.addr != TESSERA_NOWHERE)
        cli_must (tessera_trace_add_block (held, &found));
    }
}

static void
put_snapshot (Pickle *pickle, const CliStudy *study)
{
  const TesseraTrace *trace = study->trace;
  const char *format = tessera_trace_get_meta (trace, "format");
  TesseraHeld held = trace->end, found = { 0 };

  if (trace->has_segments && g_strcmp0 (format, TESSERA_FORMAT_RECORDED) == 0)
    {
      find_segments (study->layout, &found);
      find_blocks (study, &found);
      tessera_held_sort (&found);
      join_segments (&found);
      held.blocks = found.blocks;
      held.n_blocks = found.n_blocks;
      if (held.n_segments == 0)
        {
          held.segments = found.segments;
          held.n_segments = found.n_segments;
        }
    }
  put (pickle, "\x80\x02}(");
  put_segments (pickle, &held);
  put_events (pickle);
  put_settings (pickle);
  put_annotations (pickle);
  put (pickle, "u.");
  tessera_held_clear (&found);
}

void
cli_study_write_snapshot (const CliStudy *study, const char *path)
{
  const TesseraTrace *trace = study->trace;
  g_autoptr (GHashTable) texts = g_hash_table_new (g_str_hash, g_str_equal);
  g_autofree guint32 *frames = g_new0 (guint32, trace->n_frames + 1);
  g_autofree guint32 *stacks = g_new0 (guint32, trace->n_stacks + 1);
  Pickle pickle = { .trace = trace,
                    .number_of_text = texts,
                    .number_of_frame = frames,
                    .number_of_stack = stacks };
  TesseraOutput output;

  cli_must (tessera_output_begin (&output, path, cli_error ()));
  pickle.file = fopen (output.temporary, "wb");
  if (pickle.file != NULL)
    put_snapshot (&pickle, study);
  if (pickle.file == NULL || (ferror (pickle.file) | fclose (pickle.file)) != 0)
    {
      const char *why = g_strerror (errno);

      tessera_output_discard (&output);
      cli_fail_with ("Cannot write %s: %s", path, why);
    }
  cli_must (tessera_output_commit (&output, path, cli_error ()));
}
