/*
 * PyTorch profiler's own traces (Kineto's JSON), recorded with profile_memory=True.
 *
 * They hold rounded sizes and addresses of blocks, and the profiler's annotations; with with_stack=True also Python's functions, of which those that
 * are open on the same thread are a stack. There is no stream, no requested size and no
 * segment: each use of an address becomes a block of its own, as in a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <json-glib/json-glib.h>
#include <math.h>
#include <string.h>

#include "recorder/import/private.h"

/* The document in memory takes some ten times as much. */
#define MOST_BYTES ((guint64) 2 << 30)
/* Of one block, and of all: no GPU has as much. */
#define MOST_BLOCK_BYTES ((int64_t) 1 << 44)
#define MOST_SUM_BYTES ((uint64_t) 1 << 60)

typedef struct
{
  int64_t order; /* "Ev Idx" */
  int64_t at_ns;
  int64_t bytes; /* below 0: freed */
  uint64_t addr;
  int64_t total_bytes; /* allocated, after it */
  int64_t thread;
  uint32_t stack;
  gint device;
} Memory;

/* A function or annotation that was open for a while. */
typedef struct
{
  int64_t begin_ns, end_ns;
  int64_t thread;
  uint32_t frame; /* or string */
} Span;

typedef struct
{
  uint64_t addr; /* made up */
  uint64_t bytes;
} Live;

typedef struct
{
  TesseraTrace *trace;
  TesseraMade made;
  GArray *memory, *functions, *annotations;
  GHashTable *devices; /* number: events */
  gint64 device;
  uint64_t sum_bytes;
} Reader;

/* A number or text; NULL: there is none. */
static JsonNode *
value_in (JsonObject *object, const char *key)
{
  JsonNode *node = object != NULL ? json_object_get_member (object, key) : NULL;

  return node != NULL && JSON_NODE_HOLDS_VALUE (node) ? node : NULL;
}

/* The whole number under @key; 0: there is none, or (nullable) no object. */
static gint64
integer_in (JsonObject *object, const char *key)
{
  JsonNode *node = value_in (object, key);

  return node != NULL && json_node_get_value_type (node) == G_TYPE_INT64
             ? json_node_get_int (node)
             : 0;
}

static const char *
text_in (JsonObject *object, const char *key)
{
  JsonNode *node = value_in (object, key);
  const char *text = node != NULL ? json_node_get_string (node) : NULL;

  return text != NULL ? text : "";
}

/* Microseconds with fractions; what is no time is 0. */
static int64_t
ns_in (JsonObject *object, const char *key)
{
  JsonNode *node = value_in (object, key);
  const double us = node != NULL ? json_node_get_double (node) : 0;

  return isfinite (us) && fabs (us) < 4e15 ? (int64_t) (us * 1000) : 0;
}

static uint32_t
intern (TesseraTrace *trace, const char *text, size_t n_bytes)
{
  uint32_t string;

  import_must (tessera_trace_intern (trace, text, n_bytes, &string));
  return string;
}

/* "torch/nn/modules/linear.py(134): forward", or a name alone. */
static uint32_t
read_frame (TesseraTrace *trace, const char *text)
{
  const char *paren = strstr (text, ".py(");
  TesseraFrame frame = { 0 };
  const char *name = text;
  char *end = NULL;

  if (paren != NULL)
    {
      const gint64 line = g_ascii_strtoll (paren + 4, &end, 10);

      if (g_str_has_prefix (end, "): "))
        {
          frame.line = CLAMP (line, 0, G_MAXINT32);
          name = end + 3;
        }
    }
  frame.file = intern (trace, text, name != text ? (size_t) (paren + 3 - text) : 0);
  frame.name = intern (trace, name, strlen (name));
  uint32_t index;
  import_must (tessera_trace_add_frame (trace, &frame, &index));
  return index;
}

static void
read_memory (Reader *reader, JsonObject *event)
{
  JsonNode *node = json_object_get_member (event, "args");
  JsonObject *args =
      node != NULL && JSON_NODE_HOLDS_OBJECT (node) ? json_node_get_object (node) : NULL;
  const Memory memory = { .order = integer_in (args, "Ev Idx"),
                          .at_ns = ns_in (event, "ts"),
                          .bytes = integer_in (args, "Bytes"),
                          .addr = (uint64_t) integer_in (args, "Addr"),
                          .total_bytes = integer_in (args, "Total Allocated"),
                          .thread = integer_in (event, "tid"),
                          .stack = TESSERA_NONE,
                          .device = (gint) CLAMP (integer_in (args, "Device Id"), 0,
                                                  G_MAXINT16) };
  gpointer number = GINT_TO_POINTER (memory.device);

  /* 0 is the host. */
  if (integer_in (args, "Device Type") != 1 || memory.bytes == 0 ||
      memory.bytes < -MOST_BLOCK_BYTES || memory.bytes > MOST_BLOCK_BYTES ||
      reader->sum_bytes > MOST_SUM_BYTES)
    return;
  g_hash_table_insert (
      reader->devices, number,
      GUINT_TO_POINTER (GPOINTER_TO_UINT (g_hash_table_lookup (reader->devices, number)) +
                        1));
  reader->sum_bytes += (uint64_t) ABS (memory.bytes);
  g_array_append_val (reader->memory, memory);
}

static void
read_event (Reader *reader, JsonObject *event)
{
  const char *category = text_in (event, "cat"), *name = text_in (event, "name");
  Span span = { .begin_ns = ns_in (event, "ts"), .thread = integer_in (event, "tid") };

  span.end_ns = span.begin_ns + MAX (ns_in (event, "dur"), 0);
  if (strcmp (name, "[memory]") == 0)
    read_memory (reader, event);
  else if (strcmp (category, "python_function") == 0)
    {
      span.frame = read_frame (reader->trace, name);
      g_array_append_val (reader->functions, span);
    }
  else if (strcmp (category, "user_annotation") == 0)
    {
      g_autofree char *valid = g_utf8_make_valid (name, -1);

      span.frame = intern (reader->trace, valid, strlen (valid));
      g_array_append_val (reader->annotations, span);
    }
}

/* Threads number their entries apart, so that numbers part those of one time only. */
static int
by_time (const void *a, const void *b)
{
  const Memory *x = a, *y = b;

  if (x->at_ns != y->at_ns)
    return x->at_ns < y->at_ns ? -1 : 1;
  return (x->order > y->order) - (x->order < y->order);
}

/* By thread, then outer before inner. */
static int
by_begin (const void *a, const void *b)
{
  const Span *x = a, *y = b;

  if (x->thread != y->thread)
    return x->thread < y->thread ? -1 : 1;
  if (x->begin_ns != y->begin_ns)
    return x->begin_ns < y->begin_ns ? -1 : 1;
  return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

static int
by_thread (const void *a, const void *b)
{
  const Memory *const *x = a, *const *y = b;

  if ((*x)->thread != (*y)->thread)
    return (*x)->thread < (*y)->thread ? -1 : 1;
  return ((*x)->at_ns > (*y)->at_ns) - ((*x)->at_ns < (*y)->at_ns);
}

/* What is open on the thread of each allocation, innermost first. */
static void
find_stacks (Reader *reader)
{
  g_autoptr (GPtrArray) memory = g_ptr_array_new ();
  g_autoptr (GArray) open = g_array_new (FALSE, FALSE, sizeof (Span));
  g_autoptr (GArray) frames = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  guint next = 0;

  g_array_sort (reader->functions, by_begin);
  for (guint i = 0; i < reader->memory->len; i++)
    g_ptr_array_add (memory, &g_array_index (reader->memory, Memory, i));
  g_ptr_array_sort (memory, by_thread);
  for (guint i = 0; i < memory->len; i++)
    {
      Memory *one = memory->pdata[i];

      for (; next < reader->functions->len; next++)
        {
          const Span *span = &g_array_index (reader->functions, Span, next);

          if (span->thread > one->thread ||
              (span->thread == one->thread && span->begin_ns > one->at_ns))
            break;
          while (open->len > 0 &&
                 (g_array_index (open, Span, open->len - 1).thread != span->thread ||
                  g_array_index (open, Span, open->len - 1).end_ns < span->begin_ns))
            g_array_set_size (open, open->len - 1);
          g_array_append_val (open, *span);
        }
      g_array_set_size (frames, 0);
      for (guint k = open->len; k > 0 && one->bytes > 0; k--)
        {
          const Span *span = &g_array_index (open, Span, k - 1);

          if (span->thread == one->thread && span->end_ns >= one->at_ns)
            g_array_append_val (frames, span->frame);
        }
      if (frames->len > 0)
        import_must (tessera_trace_add_stack (reader->trace, (uint32_t *) frames->data,
                                              frames->len, &one->stack));
    }
}

static bool
add_event (Reader *reader, TesseraAction action, const Memory *memory, uint64_t addr)
{
  return tessera_made_event (&reader->made, action,
                             (TesseraEvent){ .addr = addr,
                                             .size_bytes = (uint64_t) ABS (memory->bytes),
                                             .at_ns = memory->at_ns,
                                             .stack = memory->stack });
}

/* A free whose allocation is older than the file is of a block that was there at the start;
 * what "Total Allocated" says beyond these was there all the time. */
static bool
add_events (Reader *reader)
{
  g_autoptr (GHashTable) live =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, g_free);
  TesseraMade *made = &reader->made;
  int64_t older_bytes = 0, before_bytes = 0;
  bool has_room = true;
  GHashTableIter iter;
  gpointer value;

  for (guint i = 0; i < reader->memory->len && has_room; i++)
    {
      const Memory *one = &g_array_index (reader->memory, Memory, i);
      uint64_t size_bytes = (uint64_t) ABS (one->bytes);
      Live *known = g_hash_table_lookup (live, &one->addr);
      Live block = { .bytes = size_bytes };

      if (i == 0 && one->total_bytes >= 0 && one->total_bytes < MOST_BLOCK_BYTES)
        before_bytes = one->total_bytes - one->bytes;
      block.addr = one->bytes < 0 && known != NULL ? known->addr
                                                   : tessera_made_addr (made, size_bytes);
      if (one->bytes > 0)
        {
          g_hash_table_replace (live, g_memdup2 (&one->addr, sizeof one->addr),
                                g_memdup2 (&block, sizeof block));
          has_room = add_event (reader, TESSERA_ALLOC, one, block.addr);
          continue;
        }
      if (known == NULL)
        {
          tessera_made_hold (made, &reader->trace->start, block.addr, size_bytes);
          older_bytes -= one->bytes;
        }
      g_hash_table_remove (live, &one->addr);
      has_room = add_event (reader, TESSERA_FREE_REQUESTED, one, block.addr) &&
                 add_event (reader, TESSERA_FREE_COMPLETED, one, block.addr);
    }
  if (before_bytes > older_bytes)
    {
      const uint64_t bytes = (uint64_t) (before_bytes - older_bytes);
      const uint64_t addr = tessera_made_addr (made, bytes);

      tessera_made_hold (made, &reader->trace->start, addr, bytes);
      tessera_made_hold (made, &reader->trace->end, addr, bytes);
    }
  g_hash_table_iter_init (&iter, live);
  while (g_hash_table_iter_next (&iter, NULL, &value))
    tessera_made_hold (made, &reader->trace->end, ((Live *) value)->addr,
                       ((Live *) value)->bytes);
  return has_room;
}

/* The first event at or after a time; events are in order of time but for ties. */
static uint32_t
event_at (const TesseraTrace *trace, int64_t at_ns)
{
  size_t low = 0, high = trace->n_events;

  while (low < high)
    {
      const size_t middle = low + (high - low) / 2;

      if (trace->events[middle].at_ns < at_ns)
        low = middle + 1;
      else
        high = middle;
    }
  return (uint32_t) low;
}

static void
add_ranges (Reader *reader)
{
  TesseraTrace *trace = reader->trace;

  for (guint i = 0; i < reader->annotations->len; i++)
    {
      const Span *span = &g_array_index (reader->annotations, Span, i);
      const TesseraRange range = {
        .name = span->frame,
        .begin_index = event_at (trace, span->begin_ns),
        .end_index = event_at (trace, span->end_ns + 1),
        .begin_ns = span->begin_ns,
        .end_ns = span->end_ns,
        .parent = TESSERA_NONE,
        .kind =
            (uint8_t) tessera_range_kind_of (tessera_trace_string (trace, span->frame)),
      };

      import_must (tessera_trace_add_range (trace, &range));
    }
  tessera_trace_settle_ranges (trace);
}

/* Times count from the first event, and never fall. */
static void
settle_times (Reader *reader)
{
  const int64_t zero_ns =
      reader->memory->len > 0 ? g_array_index (reader->memory, Memory, 0).at_ns : 0;
  int64_t latest_ns = 0;

  for (guint i = 0; i < reader->memory->len; i++)
    {
      Memory *one = &g_array_index (reader->memory, Memory, i);

      latest_ns = MAX (latest_ns, one->at_ns - zero_ns);
      one->at_ns = latest_ns;
    }
  for (guint i = 0; i < reader->annotations->len; i++)
    {
      Span *span = &g_array_index (reader->annotations, Span, i);

      span->begin_ns -= zero_ns;
      span->end_ns -= zero_ns;
    }
}

/* Keeps the events of @device; NONE: of the one that has most. */
static void
choose_device (Reader *reader, uint32_t device)
{
  GHashTableIter iter;
  gpointer number, n;
  guint most = 0, n_kept = 0;

  g_hash_table_iter_init (&iter, reader->devices);
  while (g_hash_table_iter_next (&iter, &number, &n))
    {
      const TesseraDeviceInfo info = { .device = GPOINTER_TO_UINT (number),
                                       .n_events = GPOINTER_TO_UINT (n) };

      import_must (tessera_trace_add_device (reader->trace, &info));
      if (GPOINTER_TO_UINT (n) > most ||
          (GPOINTER_TO_UINT (n) == most && GPOINTER_TO_INT (number) < reader->device))
        {
          most = GPOINTER_TO_UINT (n);
          reader->device = GPOINTER_TO_INT (number);
        }
    }
  if (device != TESSERA_NONE)
    reader->device = device;
  for (guint i = 0; i < reader->memory->len; i++)
    {
      const Memory one = g_array_index (reader->memory, Memory, i);

      if (one.device == reader->device)
        g_array_index (reader->memory, Memory, n_kept++) = one;
    }
  g_array_set_size (reader->memory, n_kept);
}

static TesseraStatus
read_events (Reader *reader,
             JsonArray *events,
             const char *name,
             uint32_t device,
             TesseraError *error)
{
  for (guint i = 0; i < json_array_get_length (events); i++)
    {
      JsonNode *node = json_array_get_element (events, i);

      if (JSON_NODE_HOLDS_OBJECT (node))
        read_event (reader, json_node_get_object (node));
    }
  choose_device (reader, device);
  if (reader->memory->len == 0)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a profiler's trace without memory of a GPU%s: profile "
                         "with profile_memory=True",
                         name, device != TESSERA_NONE ? " of that number" : "");
  g_array_sort (reader->memory, by_time);
  find_stacks (reader);
  settle_times (reader);
  if (!add_events (reader))
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s has more events than a trace can hold", name);
  add_ranges (reader);
  return TESSERA_OK;
}

/* All of a stream; NULL: it is too long, or could not be read (@status then says why). */
static GByteArray *
read_all (TesseraStream *stream)
{
  GByteArray *bytes = g_byte_array_new ();

  while (tessera_stream_fill (stream, 1))
    {
      const size_t n = (size_t) (stream->end - stream->at);

      if (bytes->len + n > MOST_BYTES)
        {
          g_byte_array_unref (bytes);
          return NULL;
        }
      g_byte_array_append (bytes, stream->at, (guint) n);
      stream->at = stream->end;
    }
  return bytes;
}

TesseraStatus
tessera_import_kineto (TesseraStream *stream,
                       const TesseraOpenOptions *options,
                       TesseraError *error,
                       TesseraTrace **out_trace)
{
  g_autoptr (GByteArray) bytes = read_all (stream);
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GArray) memory = g_array_new (FALSE, FALSE, sizeof (Memory));
  g_autoptr (GArray) functions = g_array_new (FALSE, FALSE, sizeof (Span));
  g_autoptr (GArray) annotations = g_array_new (FALSE, FALSE, sizeof (Span));
  g_autoptr (GHashTable) devices = g_hash_table_new (NULL, NULL);
  g_autoptr (GError) failure = NULL;
  Reader reader = { .memory = memory,
                    .functions = functions,
                    .annotations = annotations,
                    .devices = devices };

  if (bytes == NULL)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is JSON of more than 2 GiB: profile fewer steps",
                         stream->name);
  if (stream->status != TESSERA_OK)
    return tessera_stream_cut (stream, error);
  if (!json_parser_load_from_data (parser, (const char *) bytes->data, bytes->len,
                                   &failure))
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is JSON that breaks off or is damaged: %.200s", stream->name,
                         failure->message);
  JsonNode *root = json_parser_get_root (parser);
  JsonNode *events =
      root != NULL && JSON_NODE_HOLDS_OBJECT (root)
          ? json_object_get_member (json_node_get_object (root), "traceEvents")
          : root;
  if (events == NULL || !JSON_NODE_HOLDS_ARRAY (events))
    return tessera_fail (
        error, TESSERA_FOREIGN,
        "%s is JSON, but no profiler's trace (it has no traceEvents): open "
        "the memory snapshot (.pickle) of the run",
        stream->name);
  import_must (tessera_trace_new (&reader.trace));
  reader.made = (TesseraMade){ .trace = reader.trace, .step_bytes = 512 };
  const TesseraStatus status = read_events (&reader, json_node_get_array (events),
                                            stream->name, options->device, error);
  if (status != TESSERA_OK)
    {
      tessera_trace_free (reader.trace);
      return status;
    }
  reader.trace->device = (uint32_t) reader.device;
  reader.trace->has_time = true;
  reader.trace->starts_empty = reader.trace->start.n_blocks == 0;
  tessera_held_sort (&reader.trace->start);
  tessera_held_sort (&reader.trace->end);
  import_must (
      tessera_trace_set_meta (reader.trace, "format", "PyTorch profiler trace (Kineto)"));
  import_must (tessera_trace_set_meta (
      reader.trace, "note.kineto",
      "a profiler's trace has rounded sizes, and no streams and segments: what was "
      "reserved is simulated"));
  *out_trace = reader.trace;
  return TESSERA_OK;
}
