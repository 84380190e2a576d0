/*
 * Traces in memory: interning, stacks, ranges, fingerprints, failing allocations; sorting
 * by keys; sizes as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/trace.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "db/plan.h"
#include "db/size-text.h"
#include "db/sort.h"
#include "tests/fail_alloc.h"
#include "tests/ok.h"
#include "tests/db/auto.h"

#define SEED 20240517

static TesseraTrace *
new_trace (void)
{
  TesseraTrace *trace = NULL;

  OK (tessera_trace_new (&trace));
  return trace;
}

static uint32_t
intern (TesseraTrace *trace, const char *text)
{
  uint32_t string = TESSERA_NONE;

  OK (tessera_trace_intern (trace, text, strlen (text), &string));
  return string;
}

static void
test_new (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();

  g_assert_cmpuint (trace->n_streams, ==, 1);
  g_assert_cmpuint (trace->streams[0], ==, 0);
  g_assert_cmpuint (trace->n_pools, ==, 1);
  g_assert_cmpuint (trace->alignment_bytes, ==, 512);
  g_assert_cmpuint (trace->settings.max_split_bytes, ==, UINT64_MAX);
  g_assert_cmpuint (trace->settings.large_segment_bytes, ==, 20 << 20);
  g_assert_cmpuint (trace->stack_begin[0], ==, 0);
  g_assert_cmpstr (trace->source, ==, "");
  tessera_trace_free (NULL);
}

/* Against a GHashTable: equal text, equal id; ids by first use; text never moves. */
static void
test_strings_against_model (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autoptr (GHashTable) model =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (GPtrArray) borrowed = g_ptr_array_new ();

  for (int i = 0; i < 50000; i++)
    {
      int number = g_rand_int_range (random, 0, 20000);
      char *text = number % 1000 == 0
                       ? g_strnfill ((gsize) number * 10, 'x') /* longer than a chunk */
                       : g_strdup_printf ("name %d", number);
      gpointer known = NULL;
      uint32_t string = intern (trace, text);

      if (g_hash_table_lookup_extended (model, text, NULL, &known))
        {
          g_assert_cmpuint (string, ==, GPOINTER_TO_UINT (known));
          g_assert_true (tessera_trace_string (trace, string) == borrowed->pdata[string]);
          g_free (text);
          continue;
        }
      g_assert_cmpuint (string, ==, borrowed->len);
      g_ptr_array_add (borrowed, (gpointer) tessera_trace_string (trace, string));
      g_assert_cmpstr (tessera_trace_string (trace, string), ==, text);
      g_hash_table_insert (model, text, GUINT_TO_POINTER (string));
    }
  g_assert_cmpuint (tessera_trace_n_strings (trace), ==, borrowed->len);
}

static void
test_strings_odd (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();
  uint32_t with_nul, empty, prefix;

  prefix = intern (trace, "ab");
  OK (tessera_trace_intern (trace, "ab\0cd", 5, &with_nul));
  g_assert_cmpuint (with_nul, ==, prefix);
  OK (tessera_trace_intern (trace, NULL, 0, &empty));
  g_assert_cmpuint (empty, ==, 1);
  g_assert_cmpuint (intern (trace, "abc"), ==, 2);
  g_assert_cmpuint (intern (trace, "a"), ==, 3);
  g_assert_cmpstr (tessera_trace_string (trace, TESSERA_NONE), ==, "");
  g_assert_cmpstr (tessera_trace_string (trace, 99), ==, "");
}

static void
test_stacks (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);
  g_autoptr (GHashTable) model =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);

  for (int i = 0; i < 20000; i++)
    {
      uint32_t frames[5];
      size_t n_frames = (size_t) g_rand_int_range (random, 0, 6);
      g_autoptr (GString) key = g_string_new (NULL);
      gpointer known = NULL;
      uint32_t stack;

      for (size_t k = 0; k < n_frames; k++)
        {
          TesseraFrame frame = { .name = (uint32_t) g_rand_int_range (random, 0, 3),
                                 .file = TESSERA_NONE,
                                 .line = g_rand_int_range (random, 0, 2) };

          OK (tessera_trace_add_frame (trace, &frame, &frames[k]));
          g_assert_cmpuint (trace->frames[frames[k]].name, ==, frame.name);
          g_assert_cmpint (trace->frames[frames[k]].line, ==, frame.line);
          g_string_append_printf (key, "%u,", frames[k]);
        }
      OK (tessera_trace_add_stack (trace, frames, n_frames, &stack));
      if (g_hash_table_lookup_extended (model, key->str, NULL, &known))
        g_assert_cmpuint (stack, ==, GPOINTER_TO_UINT (known));
      else
        g_hash_table_insert (model, g_strdup (key->str), GUINT_TO_POINTER (stack));
      g_assert_cmpuint (trace->stack_begin[stack + 1] - trace->stack_begin[stack], ==,
                        n_frames);
      for (size_t k = 0; k < n_frames; k++)
        g_assert_cmpuint (trace->stack_frames[trace->stack_begin[stack] + k], ==,
                          frames[k]);
    }
  g_assert_cmpuint (trace->n_frames, ==, 6);
  g_assert_cmpuint (trace->n_stacks, ==, g_hash_table_size (model));
}

static void
test_streams_and_pools (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();
  uint16_t index;

  for (uint64_t i = 0; i <= UINT16_MAX; i++)
    {
      OK (tessera_trace_add_stream (trace, i, &index));
      g_assert_cmpuint (index, ==, i);
    }
  OK (tessera_trace_add_stream (trace, 7, &index));
  g_assert_cmpuint (index, ==, 7);
  g_assert_cmpint (tessera_trace_add_stream (trace, 1 << 20, &index), ==,
                   TESSERA_BAD_INPUT);
  g_assert_cmpuint (trace->n_streams, ==, 65536);
  OK (tessera_trace_add_pool (trace, (TesseraPoolId){ 0, 3 }, &index));
  g_assert_cmpuint (index, ==, 1);
  OK (tessera_trace_add_pool (trace, (TesseraPoolId){ 3, 0 }, &index));
  g_assert_cmpuint (index, ==, 2);
}

static void
test_meta (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();

  g_assert_null (tessera_trace_get_meta (trace, "format"));
  OK (tessera_trace_set_meta (trace, "format", "pickle"));
  OK (tessera_trace_set_meta (trace, "note", ""));
  OK (tessera_trace_set_meta (trace, "format", "csv"));
  g_assert_cmpstr (tessera_trace_get_meta (trace, "format"), ==, "csv");
  g_assert_cmpuint (trace->n_meta, ==, 2);
  OK (tessera_trace_set_source (trace, "/a/b.pickle"));
  g_assert_cmpstr (trace->source, ==, "b.pickle");
}

static void
add_range (
    TesseraTrace *trace, uint32_t begin, uint32_t end, int64_t begin_ns, int64_t end_ns)
{
  TesseraRange range = { .name = TESSERA_NONE,
                         .begin_index = begin,
                         .end_index = end,
                         .begin_ns = begin_ns,
                         .end_ns = end_ns };

  OK (tessera_trace_add_range (trace, &range));
}

static void
test_ranges_without_events (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();

  add_range (trace, 10, 10, 95, 99);   /* in time inside the first, at its very end */
  add_range (trace, 10, 20, 100, 200); /* the second */
  add_range (trace, 0, 10, 0, 100);    /* the first */
  add_range (trace, 10, 10, 100, 101); /* at the second's begin */
  tessera_trace_settle_ranges (trace);
  g_assert_cmpuint (trace->ranges[0].begin_index, ==, 0);
  g_assert_cmpuint (trace->ranges[0].parent, ==, TESSERA_NONE);
  g_assert_cmpint (trace->ranges[1].begin_ns, ==, 95);
  g_assert_cmpuint (trace->ranges[1].parent, ==, 0);
  g_assert_cmpuint (trace->ranges[2].end_index, ==, 20);
  g_assert_cmpuint (trace->ranges[2].parent, ==, TESSERA_NONE);
  g_assert_cmpint (trace->ranges[3].end_ns, ==, 101);
  g_assert_cmpuint (trace->ranges[3].parent, ==, 2);
}

/* The parent is the latest range before that contains this one; ranges overlap freely. */
static void
test_ranges_against_model (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (SEED);

  for (int round = 0; round < 300; round++)
    {
      g_autoptr (TesseraTrace) trace = new_trace ();
      int n_ranges = g_rand_int_range (random, 0, 30);

      for (int i = 0; i < n_ranges; i++)
        {
          uint32_t begin = (uint32_t) g_rand_int_range (random, 0, 20);
          uint32_t end = begin + (uint32_t) g_rand_int_range (random, 1, 15);

          add_range (trace, begin, end, begin * 10, end * 10);
        }
      tessera_trace_settle_ranges (trace);
      for (uint32_t i = 0; i < trace->n_ranges; i++)
        {
          uint32_t parent = TESSERA_NONE;

          for (uint32_t k = 0; k < i; k++)
            if (trace->ranges[k].end_index >= trace->ranges[i].end_index)
              parent = k;
          g_assert_cmpuint (trace->ranges[i].parent, ==, parent);
        }
    }
}

/* Tensors are told in order; one that was refused changes nothing. */
static void
test_tensors (void)
{
  g_autoptr (TesseraTrace) trace = new_trace ();
  TesseraTensor tensor = { .event_index = 5, .kind = TESSERA_TENSOR_GRADIENT };

  OK (tessera_trace_add_tensor (trace, &tensor));
  OK (tessera_trace_add_tensor (trace, &tensor));
  tensor.event_index = 4;
  g_assert_cmpint (tessera_trace_add_tensor (trace, &tensor), ==, TESSERA_BAD_INPUT);
  g_assert_cmpuint (trace->n_tensors, ==, 2);
  tensor.event_index = 6;
  OK (tessera_trace_add_tensor (trace, &tensor));
  g_assert_cmpuint (trace->tensors[2].event_index, ==, 6);
}

static void
test_fingerprint (void)
{
  g_autoptr (TesseraTrace) a = new_trace (), b = new_trace ();
  TesseraEvent event = { .addr = 512, .size_bytes = 100, .action = TESSERA_ALLOC };

  OK (tessera_trace_add_event (a, &event));
  event.addr = 1024;
  event.at_ns = 77;
  event.stack = TESSERA_NONE;
  OK (tessera_trace_add_event (b, &event));
  g_assert_cmphex (tessera_trace_fingerprint (a), ==, tessera_trace_fingerprint (b));
  b->events[0].stream = 1;
  g_assert_cmphex (tessera_trace_fingerprint (a), !=, tessera_trace_fingerprint (b));
  b->events[0].stream = 0;
  b->events[0].size_bytes = 101;
  g_assert_cmphex (tessera_trace_fingerprint (a), !=, tessera_trace_fingerprint (b));
}

/* Enough of everything that each array and table has to grow at least once. */
static TesseraStatus
build (TesseraTrace **out_trace)
{
  TesseraTrace *trace;
  TesseraStatus status = tessera_trace_new (&trace);

  for (uint32_t i = 0; status == TESSERA_OK && i < 100; i++)
    {
      char name[16];
      uint32_t string = 0, frame = 0, stack = 0;
      uint16_t stream, pool;

      g_snprintf (name, sizeof name, "n%u", i);
      status = tessera_trace_intern (trace, name, strlen (name), &string);
      if (status == TESSERA_OK)
        status =
            tessera_trace_add_frame (trace, &(TesseraFrame){ .name = string }, &frame);
      if (status == TESSERA_OK)
        status = tessera_trace_add_stack (trace, &frame, 1, &stack);
      if (status == TESSERA_OK)
        status = tessera_trace_add_stream (trace, i, &stream);
      if (status == TESSERA_OK)
        status = tessera_trace_add_pool (trace, (TesseraPoolId){ i, 0 }, &pool);
      if (status == TESSERA_OK)
        status = tessera_trace_add_event (trace, &(TesseraEvent){ .stack = stack });
      if (status == TESSERA_OK)
        status = tessera_trace_add_segment (&trace->start, &(TesseraSegment){ 0 });
      if (status == TESSERA_OK)
        status = tessera_trace_add_block (&trace->end, &(TesseraHeldBlock){ 0 });
      if (status == TESSERA_OK)
        status = tessera_trace_add_range (trace, &(TesseraRange){ .name = string });
      if (status == TESSERA_OK)
        status = tessera_trace_add_tensor (trace, &(TesseraTensor){ .name = string });
      if (status == TESSERA_OK)
        status = tessera_trace_add_device (trace, &(TesseraDeviceInfo){ 0 });
      if (status == TESSERA_OK)
        status = tessera_trace_set_meta (trace, name, name);
    }
  if (status == TESSERA_OK)
    status = tessera_trace_set_source (trace, "x/y");
  *out_trace = trace;
  return status;
}

static void
test_failing_allocations (void)
{
  long held = tessera_fail_alloc_held ();
  unsigned nth = 1;

  for (;; nth++)
    {
      TesseraTrace *trace;

      tessera_fail_alloc_at (nth);
      TesseraStatus status = build (&trace);
      if (!tessera_fail_alloc_stop ())
        {
          OK (status);
          g_assert_cmpuint (trace->n_events, ==, 100);
          tessera_trace_free (trace);
          break;
        }
      g_assert_cmpint (status, ==, TESSERA_NO_MEMORY);
      tessera_trace_free (trace);
      g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
    }
  g_assert_cmpint (tessera_fail_alloc_held (), ==, held);
  g_assert_cmpuint (nth, >, 200); /* two copies of 100 pieces of meta alone */
}

static void
test_fail_sentence (void)
{
  TesseraError error = { 0 };
  g_autofree char *long_text = g_strnfill (2000, 'x');

  GIVES (TESSERA_IO, tessera_fail (&error, TESSERA_IO, "a\nb %s \xff\xc3\xa9", "c"));
  g_assert_cmpstr (error.text, ==, "a\\u000ab c \\xff\xc3\xa9");
  g_assert_cmpint (tessera_fail (&error, TESSERA_FOREIGN, "later"), ==, TESSERA_FOREIGN);
  g_assert_cmpint (error.status, ==, TESSERA_IO);
  g_assert_cmpstr (error.text, ==, "a\\u000ab c \\xff\xc3\xa9");
  error = (TesseraError){ 0 };
  tessera_fail (&error, TESSERA_IO, "%s", "");
  g_assert_cmpuint (strlen (error.text), >, 0);
  error = (TesseraError){ 0 };
  tessera_fail (&error, TESSERA_IO, "%s\xc3\xa9", long_text + 2000 - 638);
  g_assert_true (g_utf8_validate (error.text, -1, NULL));
  GIVES (TESSERA_IO, tessera_fail (NULL, TESSERA_IO, "nobody reads it"));
}

static void
test_plan_digest (void)
{
  g_autoptr (TesseraPlan) plan = NULL;

  OK (tessera_plan_new (&plan));
  uint64_t empty = tessera_plan_digest (plan);
  plan->slots = calloc (1, sizeof *plan->slots);
  plan->n_slots = 1;
  g_assert_cmphex (tessera_plan_digest (plan), !=, empty);
  empty = tessera_plan_digest (plan);
  plan->slots[0].offset_bytes = 512;
  g_assert_cmphex (tessera_plan_digest (plan), !=, empty);
  tessera_plan_free (NULL);
}

/* The block at an address, and the first above it. */
static void
test_held (void)
{
  TesseraHeldBlock blocks[] = { { .addr = 100 }, { .addr = 200 }, { .addr = 300 } };
  const TesseraHeld held = { .blocks = blocks, .n_blocks = 3 };

  for (uint64_t addr = 50; addr <= 350; addr += 50)
    {
      size_t above = (size_t) (addr <= 100 ? 0 : (addr - 1) / 100);

      g_assert_cmpuint (tessera_held_first (&held, addr), ==, above);
      g_assert_cmpuint (tessera_held_find (&held, addr), ==,
                        addr % 100 == 0 ? addr / 100 - 1 : 3);
    }
}

static void
test_action_names (void)
{
  g_assert_cmpstr (tessera_action_name (TESSERA_ALLOC), ==, "alloc");
  g_assert_cmpstr (tessera_action_name (TESSERA_MARK), ==, "mark");
  g_assert_cmpstr (tessera_action_name (0), ==, "unknown");
  g_assert_cmpstr (tessera_action_name (TESSERA_MARK + 1), ==, "unknown");
}

/* Sorting by keys: against the C library's sort, with ties. */

/* Values number the entries as they came. */
static int
compare_keyed (const void *a, const void *b)
{
  const TesseraKeyed *x = a, *y = b;
  if (x->key != y->key)
    return x->key < y->key ? -1 : 1;
  return x->value < y->value ? -1 : x->value > y->value;
}

static TesseraKeyed *
draw_keyed (GRand *random, gsize n, int n_bits)
{
  TesseraKeyed *keyed = g_new0 (TesseraKeyed, n + 1);
  guint64 mask = n_bits == 64 ? G_MAXUINT64 : (G_GUINT64_CONSTANT (1) << n_bits) - 1;
  for (gsize i = 0; i < n; i++)
    {
      guint64 key = (guint64) g_rand_int (random) << 32 | g_rand_int (random);
      keyed[i] = (TesseraKeyed){ key & mask, (guint32) i };
    }
  return keyed;
}

static void
test_sort (void)
{
  static const gsize sizes[] = { 0, 1, 2, 63, 64, 65, 300, 5000 };
  static const int bits[] = { 0, 1, 5, 9, 33, 64 };
  g_autoptr (GRand) random = g_rand_new_with_seed (4);
  for (gsize s = 0; s < G_N_ELEMENTS (sizes); s++)
    for (gsize b = 0; b < G_N_ELEMENTS (bits); b++)
      {
        g_autofree TesseraKeyed *keyed = draw_keyed (random, sizes[s], bits[b]);
        g_autofree TesseraKeyed *same = g_memdup2 (keyed, (sizes[s] + 1) * sizeof *keyed);
        OK (tessera_sort_keyed (keyed, sizes[s]));
        qsort (same, sizes[s], sizeof *same, compare_keyed);
        for (gsize i = 0; i < sizes[s]; i++)
          {
            g_assert_cmpuint (keyed[i].key, ==, same[i].key);
            g_assert_cmpuint (keyed[i].value, ==, same[i].value);
          }
      }
}

static void
test_sort_without_memory (void)
{
  g_autoptr (GRand) random = g_rand_new_with_seed (7);
  g_autofree TesseraKeyed *keyed = draw_keyed (random, 500, 20);
  g_autofree TesseraKeyed *same = g_memdup2 (keyed, 500 * sizeof *keyed);
  tessera_fail_alloc_at (1);
  GIVES (TESSERA_NO_MEMORY, tessera_sort_keyed (keyed, 500));
  g_assert_true (tessera_fail_alloc_stop ());
  g_assert_cmpmem (keyed, 500 * sizeof *keyed, same, 500 * sizeof *same);
}

/* Among 0, 10, 10, 20: those below, however many are equal. */
static void
test_count_below (void)
{
  static const uint64_t numbers[] = { 0, 10, 10, 20 };
  static const uint32_t expected[] = { 0, 1, 1, 3, 3, 4 };

  for (uint32_t i = 0; i < G_N_ELEMENTS (expected); i++)
    g_assert_cmpuint (tessera_count_below (numbers, 4, 5 * i), ==, expected[i]);
  g_assert_cmpuint (tessera_count_below (numbers, 0, 5), ==, 0);
  g_assert_cmpuint (tessera_count_below (numbers, 4, UINT64_MAX), ==, 4);
}

/* Sizes as text */

static void
test_parse_size (void)
{
  static const struct
  {
    const char *text;
    guint64 bytes;
  } cases[] = {
    { "0", 0 },
    { "512", 512 },
    { " 512 bytes ", 512 },
    { "7 b", 7 },
    { "24GB", G_GUINT64_CONSTANT (24000000000) },
    { "24 gb", G_GUINT64_CONSTANT (24000000000) },
    { "24GiB", G_GUINT64_CONSTANT (24) << 30 },
    { "24\tgib\n", G_GUINT64_CONSTANT (24) << 30 },
    { "24G", G_GUINT64_CONSTANT (24) << 30 },
    { "1KB", 1000 },
    { "1.5k", 1536 },
    { ".5 KiB", 512 },
    { "3.MiB", 3 << 20 },
    { "0.29 GB", 290000000 },
    { "0.1GiB", 107374182 },
    { "2 tib", G_GUINT64_CONSTANT (2) << 40 },
    { "2TB", G_GUINT64_CONSTANT (2000000000000) },
    { "1PiB", G_GUINT64_CONSTANT (1) << 50 },
    { "7EiB", G_GUINT64_CONSTANT (7) << 60 },
    { "9223372036854775807", G_MAXINT64 },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      uint64_t bytes = 1;

      if (!tessera_parse_bytes (cases[i].text, &bytes))
        g_error ("\"%s\" is no size", cases[i].text);
      g_assert_cmpuint (bytes, ==, cases[i].bytes);
    }
}

static void
test_refuse_size (void)
{
  static const char *const texts[] = {
    "",
    " ",
    "-1",
    "+1",
    "GiB",
    ".",
    ". GiB",
    "much",
    "1 MiX",
    "1 MiBs",
    "1 byt",
    "1e3",
    "0x10",
    "nan",
    "inf",
    "1,5 GiB",
    "1 2GiB",
    "1 G i B",
    "1 iB",
    "1KiB7",
    "8EiB",
    "9.3EB",
    "9223372036854775808",
    "99999999999999999999",
    "9000000000000TiB",
    "\xff",
  };

  for (gsize i = 0; i < G_N_ELEMENTS (texts); i++)
    {
      uint64_t bytes = 17;

      if (tessera_parse_bytes (texts[i], &bytes))
        g_error ("\"%s\" was taken for %" G_GUINT64_FORMAT, texts[i], bytes);
      g_assert_cmpuint (bytes, ==, 17);
    }
}

static void
test_format_size (void)
{
  static const struct
  {
    guint64 bytes;
    const char *text;
  } cases[] = {
    { 0, "0 B" },
    { 1023, "1023 B" },
    { 1024, "1.00 KiB" },
    { (1 << 20) - 1, "1.00 MiB" },
    { 1536 << 10, "1.50 MiB" },
    { G_GUINT64_CONSTANT (24000000000), "22.35 GiB" },
    { G_MAXUINT64, "16.00 EiB" },
  };

  for (gsize i = 0; i < G_N_ELEMENTS (cases); i++)
    g_assert_cmpstr (TESSERA_SIZE (cases[i].bytes), ==, cases[i].text);
}

/* What is written is read again, to the two decimals that are there. */
static void
test_sizes_read_again (void)
{
  for (guint64 bytes = 1; bytes < G_GUINT64_CONSTANT (7) << 60; bytes += bytes / 3 + 1)
    {
      uint64_t read = 0;

      g_assert_true (tessera_parse_bytes (TESSERA_SIZE (bytes), &read));
      g_assert_cmpfloat_with_epsilon ((double) read / (double) bytes, 1.0, 0.005);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/trace/new", test_new);
  g_test_add_func ("/trace/strings-against-model", test_strings_against_model);
  g_test_add_func ("/trace/strings-odd", test_strings_odd);
  g_test_add_func ("/trace/stacks", test_stacks);
  g_test_add_func ("/trace/streams-and-pools", test_streams_and_pools);
  g_test_add_func ("/trace/meta", test_meta);
  g_test_add_func ("/trace/ranges-without-events", test_ranges_without_events);
  g_test_add_func ("/trace/ranges-against-model", test_ranges_against_model);
  g_test_add_func ("/trace/tensors", test_tensors);
  g_test_add_func ("/trace/fingerprint", test_fingerprint);
  g_test_add_func ("/trace/failing-allocations", test_failing_allocations);
  g_test_add_func ("/status/sentence", test_fail_sentence);
  g_test_add_func ("/trace/held", test_held);
  g_test_add_func ("/trace/action-names", test_action_names);
  g_test_add_func ("/plan/digest", test_plan_digest);
  g_test_add_func ("/sort/random", test_sort);
  g_test_add_func ("/sort/no-memory", test_sort_without_memory);
  g_test_add_func ("/search/count-below", test_count_below);
  g_test_add_func ("/size-text/parse", test_parse_size);
  g_test_add_func ("/size-text/refuse", test_refuse_size);
  g_test_add_func ("/size-text/format", test_format_size);
  g_test_add_func ("/size-text/format parses", test_sizes_read_again);
  return g_test_run ();
}
