/*
 * Tests of the snapshot importer on snapshots made here: each era, devices, flaws.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"

#include "tests/db/auto.h"
#include "tests/ok.h"
#include "tests/recorder/snapshot-writer.h"

static TesseraStatus
import (const void *bytes,
        size_t n_bytes,
        uint32_t device,
        TesseraError *error,
        TesseraTrace **out)
{
  const TesseraOpenOptions options = { .device = device };
  TesseraStream *stream = test_stream (bytes, n_bytes);
  TesseraStatus status = tessera_import_snapshot (stream, &options, error, out);

  tessera_stream_close (stream);
  return status;
}

/* Ends the pickle and imports it; it must be fine. */
static TesseraTrace *
finish (GByteArray *to)
{
  TesseraError error = { 0 };
  TesseraTrace *trace;

  put_op (to, '.');
  if (import (to->data, to->len, TESSERA_NONE, &error, &trace) != TESSERA_OK)
    g_error ("%s", error.text);
  g_byte_array_unref (to);
  return trace;
}

/* Of a snapshot's text. */
static TesseraTrace *
import_text (const char *text)
{
  return finish (pickle_of (text, NULL));
}

#define ONLY_TRACE(entries) "{'segments': [], 'device_traces': [[" entries "]]}"

/* Ends the pickle and imports it; the sentence must hold @says. */
static void
finish_refused (GByteArray *to, const char *says)
{
  TesseraError error = { 0 };
  TesseraTrace *trace;

  put_op (to, '.');
  g_assert_cmpint (import (to->data, to->len, TESSERA_NONE, &error, &trace), ==,
                   TESSERA_BAD_INPUT);
  g_assert_null (trace);
  test_says (&error, says);
  g_byte_array_unref (to);
}

/* 2.0: blocks without address but with history; entries without time. */
static void
test_2_0 (void)
{
  g_autoptr (TesseraTrace) trace = import_text (
      "{'segments': [{'address': B, 'total_size': 2M, 'segment_type': 'small',"
      " 'blocks': [{'size': 1024, 'requested_size': 1000, 'state': 'active_allocated'},"
      "{'size': 512, 'state': 'active_awaiting_free', 'history': [{'addr': B+1024,"
      " 'real_size': 300, 'frames': ["
      "{'name': 'forward', 'filename': 'train.py', 'line': 7}]}]},"
      "{'size': 2095616, 'requested_size': 4, 'state': 'inactive'}]}],"
      "'device_traces': [[{'action': 'snapshot', 'addr': 0, 'size': 1324,"
      " 'stream': 0}]]}");

  g_assert_cmpuint (trace->n_events, ==, 1);
  g_assert_false (trace->has_time);
  g_assert_true (trace->has_segments);
  g_assert_cmpuint (trace->end.n_blocks, ==, 3);
  g_assert_cmpuint (trace->end.blocks[1].addr, ==, BASE + 1024);
  g_assert_cmpuint (trace->end.blocks[1].size_bytes, ==, 300);
  g_assert_cmpuint (trace->end.blocks[1].state, ==, TESSERA_BLOCK_PENDING);
  g_assert_cmpuint (trace->end.blocks[1].stack, ==, 0);
  g_assert_cmpuint (trace->end.blocks[2].size_bytes, ==, 0);
  g_assert_cmpuint (trace->end.blocks[2].state, ==, TESSERA_BLOCK_FREE);
  g_assert_cmpuint (trace->start.n_blocks, ==, 2);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "pytorch"), ==, "2.0 or so");
  g_assert_nonnull (tessera_trace_get_meta (trace, "history"));
}

/* 1.13 and memory_snapshot(): the list of segments alone. */
static void
test_bare_segments (void)
{
  g_autoptr (TesseraTrace) trace = import_text (
      "[" SEGMENT ("0", "2M", "small", BLOCK ("B", "2M", "2M", "active_allocated")) "]");

  g_assert_cmpuint (trace->n_events, ==, 0);
  g_assert_cmpuint (trace->start.n_blocks, ==, 1);
  g_assert_cmpuint (trace->end.n_segments, ==, 1);
  g_assert_false (trace->starts_empty);
}

static void
test_whole (void)
{
  g_autoptr (TesseraTrace) trace = finish (whole_snapshot ());
  const TesseraFrame *frame;

  g_assert_cmpuint (trace->n_events, ==, 7); /* teleport left out */
  g_assert_cmpstr (tessera_trace_get_meta (trace, "pytorch"), ==, "2.12 or so");
  g_assert_cmpuint (trace->events[6].action, ==, TESSERA_MARK);
  g_assert_cmpuint (trace->events[5].action, ==, TESSERA_OOM);
  g_assert_cmpuint (trace->events[5].addr, ==, 12345);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.unknown_actions"), ==,
                   "1 entries of unknown actions left out: teleport");
  g_assert_true (trace->has_time);
  g_assert_cmpint (trace->events[2].at_ns, ==, 10000);
  g_assert_cmpuint (trace->n_streams, ==, 2);
  g_assert_cmpuint (trace->streams[trace->events[2].stream], ==, 77);
  g_assert_cmpuint (trace->n_stacks, ==, 1);
  g_assert_cmpuint (trace->events[0].stack, ==, 0);
  g_assert_cmpuint (trace->events[1].stack, ==, 0);
  g_assert_cmpuint (trace->events[2].stack, ==, TESSERA_NONE);
  frame = &trace->frames[trace->stack_frames[0]];
  g_assert_cmpstr (tessera_trace_string (trace, frame->name), ==, "layer");
  g_assert_cmpint (frame->line, ==, 3);
  g_assert_cmpuint (trace->stack_begin[1], ==, 2);
  g_assert_cmpint (trace->frames[trace->stack_frames[1]].line, ==, 9);
  g_assert_true (trace->starts_empty);
  g_assert_cmpuint (trace->start.n_blocks, ==, 0);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.host_entries"), ==,
                   "1 entries of host memory left aside");
  g_assert_nonnull (tessera_trace_get_meta (trace, "note.host_segments"));
  g_assert_cmpuint (trace->n_devices, ==, 1);
}

static void
test_settings (void)
{
  g_autoptr (TesseraTrace) trace = finish (whole_snapshot ());
  const TesseraSettings *settings = &trace->settings;

  g_assert_cmpuint (settings->max_split_bytes, ==, 64 * MIB);
  g_assert_cmpuint (settings->max_non_split_rounding_bytes, ==, 32 * MIB);
  g_assert_cmpuint (settings->large_segment_bytes, ==, 40 * MIB);
  g_assert_cmpfloat (settings->garbage_collection_threshold, ==, 0.75);
  g_assert_true (settings->is_expandable);
  g_assert_cmpuint (settings->roundup_divisions[0], ==, 8);
  g_assert_cmpuint (settings->roundup_divisions[1], ==, 0);
  g_assert_cmpuint (settings->roundup_divisions[2], ==, 2);
  g_assert_cmpuint (settings->roundup_divisions[15], ==, 16);
  g_assert_nonnull (
      strstr (tessera_trace_get_meta (trace, "alloc_conf"), "max_split_size_mb:64"));
}

/* An entry's private pool is its own where the recording names it. */
static void
test_pools_of_entries (void)
{
  g_autoptr (TesseraTrace) trace = import_text (ONLY_TRACE (
      "{'action': 'alloc', 'addr': B, 'size': 512, 'stream': 0, 'pool_id': [0, 0]},"
      "{'action': 'alloc', 'addr': B+1M, 'size': 512, 'stream': 0,"
      " 'pool_id': [0, 1]}"));

  g_assert_cmpuint (trace->events[0].pool, ==, 0);
  g_assert_cmpuint (trace->events[1].pool, ==, 1);
  g_assert_cmpuint (trace->pools[1].user_id, ==, 1);
}

/* Times are kept up to the year 2112, where nanoseconds still fit 63 bits; a later one is
 * that of a clock gone wrong, and no time is shown. */
static void
test_times (void)
{
  const uint64_t latest_us = (uint64_t) 1 << 52;

  for (uint64_t beyond_us = 0; beyond_us < 2; beyond_us++)
    {
      g_autofree char *text = g_strdup_printf (
          ONLY_TRACE (ENTRY ("snapshot", "0", "0", "0", "%" G_GUINT64_FORMAT)
                          ENTRY ("snapshot", "0", "0", "0", "%" G_GUINT64_FORMAT)),
          latest_us - 3, latest_us + beyond_us);
      g_autoptr (TesseraTrace) trace = import_text (text);

      g_assert_cmpuint (trace->n_events, ==, 2);
      g_assert_cmpint (trace->has_time, ==, beyond_us == 0);
      g_assert_cmpint (trace->events[1].at_ns, ==, beyond_us == 0 ? 3000 : 0);
    }
}

/* A clock that was set back is noted, and how often. */
static void
test_times_that_go_back (void)
{
#define AT(time_us) ENTRY ("snapshot", "0", "0", "0", time_us)
  g_autoptr (TesseraTrace) trace = import_text (
      ONLY_TRACE (AT ("50") AT ("60") AT ("40") AT ("40") AT ("70") AT ("65")));

  g_assert_true (trace->has_time);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.time_goes_back"), ==,
                   "2 entries are older than the one before");
}

/* A line below 0 is unknown, like 0. */
static void
test_lines (void)
{
  static const Raw minus_one = { "J\xff\xff\xff\xff", 5 };
  g_autoptr (TesseraTrace) trace = finish (pickle_of (
      "[{'address': B, 'total_size': 2M, 'segment_type': 'small',"
      " 'frames': [" FRAME ("known", "1") FRAME ("unknown", "$") FRAME (
          "known", "1") "],"
                        " 'blocks': [" BLOCK ("B", "2M", "2M", "active_allocated") "]}]",
      &minus_one));

  g_assert_cmpuint (trace->n_frames, ==, 2);
  g_assert_cmpint (trace->frames[0].line, ==, 1);
  g_assert_cmpint (trace->frames[1].line, ==, 0);
  g_assert_cmpuint (trace->n_stack_frames, ==, 3);
  g_assert_cmpuint (trace->stack_frames[2], ==, trace->stack_frames[0]);
}

/* Entries of a mark's very time are inside; neighbours do not overlap. */
static void
test_annotations (void)
{
  TesseraTrace *trace = finish (whole_snapshot ());

  g_assert_cmpuint (trace->n_ranges, ==, 5);
  test_range_is (trace, 0, "before", 0, 2, TESSERA_RANGE_PHASE);
  test_range_is (trace, 1, "step 3", 2, 6, TESSERA_RANGE_STEP);
  test_range_is (trace, 2, "forward", 2, 5, TESSERA_RANGE_PHASE);
  test_range_is (trace, 3, "backward", 5, 6, TESSERA_RANGE_PHASE);
  test_range_is (trace, 4, "ProfilerStep#12", 6, 7, TESSERA_RANGE_STEP);
  g_assert_cmpuint (trace->ranges[2].parent, ==, 1);
  g_assert_cmpuint (trace->ranges[3].parent, ==, 1);
  g_assert_nonnull (tessera_trace_get_meta (trace, "note.annotations_begun_before"));
  g_assert_nonnull (tessera_trace_get_meta (trace, "note.annotations_unfinished"));
  tessera_trace_free (trace);

  g_assert_cmpint (tessera_range_kind_of ("step 0"), ==, TESSERA_RANGE_STEP);
  g_assert_cmpint (tessera_range_kind_of ("Iteration_12"), ==, TESSERA_RANGE_STEP);
  g_assert_cmpint (tessera_range_kind_of ("step"), ==, TESSERA_RANGE_PHASE);
  g_assert_cmpint (tessera_range_kind_of ("step x"), ==, TESSERA_RANGE_PHASE);
  g_assert_cmpint (tessera_range_kind_of ("stepping 1"), ==, TESSERA_RANGE_PHASE);
  g_assert_cmpint (tessera_range_kind_of ("Optimizer.step#AdamW.step"), ==,
                   TESSERA_RANGE_PHASE);
}

#define WITH_MARKS(first_us, last_us, marks)                                             \
  "{'segments': [], 'device_traces': [[" AT (first_us)                                   \
      AT (last_us) "]], 'external_annotations': [" marks "]}"

/* A range that begins behind the last entry ends where it begins. */
static void
test_annotation_behind (void)
{
  TesseraTrace *trace =
      import_text (WITH_MARKS ("1000", "1001", MARK ("START", "save", "1005")));

  g_assert_cmpuint (trace->n_ranges, ==, 1);
  test_range_is (trace, 0, "save", 2, 2, TESSERA_RANGE_PHASE);
  g_assert_cmpint (trace->ranges[0].begin_ns, ==, 5000);
  g_assert_cmpint (trace->ranges[0].end_ns, ==, 5000);
  tessera_trace_free (trace);
}

/* Annotations of another device count only where the chosen one has none. */
static void
test_annotations_of_devices (void)
{
  for (int has_own = 0; has_own <= 1; has_own++)
    {
      g_autoptr (TesseraTrace) trace = import_text (
          has_own ? WITH_MARKS ("1000", "1009",
                                MARK_OF ("1", "START", "load", "1002")
                                    MARK_OF ("0", "START", "save", "1005"))
                  : WITH_MARKS ("1000", "1009", MARK_OF ("1", "START", "load", "1002")));

      g_assert_cmpuint (trace->n_ranges, ==, 1);
      g_assert_cmpint (trace->ranges[0].begin_ns, ==, has_own ? 5000 : 2000);
    }
}

static void
test_devices (void)
{
  g_autoptr (GByteArray) to = devices_snapshot ();
  TesseraError error = { 0 };
  TesseraTrace *trace;

  OK (import (to->data, to->len, TESSERA_NONE, &error, &trace));
  g_assert_cmpuint (trace->device, ==, 1);
  g_assert_cmpuint (trace->n_devices, ==, 3);
  g_assert_cmpuint (trace->devices[2].device, ==, 3);
  g_assert_cmpuint (trace->n_events, ==, 2);
  g_assert_cmpuint (trace->end.n_segments, ==, 1);
  g_assert_cmpuint (trace->end.n_blocks, ==, 3);
  g_assert_cmpuint (trace->events[1].stream, ==, 2);
  tessera_trace_free (trace);

  OK (import (to->data, to->len, 3, &error, &trace));
  g_assert_cmpuint (trace->n_events, ==, 1);
  g_assert_cmpuint (trace->events[0].stream, ==, 1); /* 6 is the first of this device */
  g_assert_cmpint (trace->events[0].at_ns, ==, 0);
  g_assert_cmpuint (trace->start.blocks[0].state, ==, TESSERA_BLOCK_LIVE);
  tessera_trace_free (trace);

  OK (import (to->data, to->len, 0, &error, &trace));
  g_assert_cmpuint (trace->n_events, ==, 0);
  tessera_trace_free (trace);

  g_assert_cmpint (import (to->data, to->len, 2, &error, &trace), ==, TESSERA_INVALID);
  g_assert_nonnull (strstr (error.text, "nothing of device 2: choose from 0, 1, 3"));
}

/* The dict of these keys, where @key has @body (NULL: is not there). */
static void
append_flawed (GString *text,
               const char *const keys[][2],
               const char *key,
               const char *body)
{
  g_string_append_c (text, '{');
  for (size_t i = 0; keys[i][0] != NULL; i++)
    if (strcmp (key, keys[i][0]) != 0)
      g_string_append_printf (text, "'%s': %s, ", keys[i][0], keys[i][1]);
    else if (body != NULL)
      g_string_append_printf (text, "'%s': $, ", key);
  g_string_append_c (text, '}');
}

/* One entry and one segment, with something wrong about one of them. */
static void
check_flaw (const char *key,
            gboolean in_segment,
            const char *body,
            size_t n_bytes,
            const char *says)
{
  static const char *const entry_keys[][2] = { { "addr", "B" },
                                               { "size", "512" },
                                               { "stream", "512" },
                                               { "action", "'alloc'" },
                                               { NULL } };
  static const char *const segment_keys[][2] = { { "address", "B" },
                                                 { "total_size", "2M" },
                                                 { "device", "0" },
                                                 { "blocks", "[]" },
                                                 { NULL } };
  const Raw raw = { body, n_bytes };
  g_autoptr (GString) text = g_string_new ("{'segments': [");

  append_flawed (text, segment_keys, in_segment ? key : "", body);
  g_string_append (text, "], 'device_traces': [[");
  append_flawed (text, entry_keys, in_segment ? "" : key, body);
  g_string_append (text, "]]}");
  finish_refused (pickle_of (text->str, &raw), says);
}

#define HUGE "\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80" /* below 0: -2^63 */
#define ALMOST "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00"
#define FLAW(key, in_segment, body, says)                                                \
  check_flaw (key, in_segment, body, sizeof (body) - 1, says)

static void
test_flaws (void)
{
  check_flaw ("addr", FALSE, NULL, 0, "trace entry 0 of device 0 (ends at byte");
  check_flaw ("addr", FALSE, NULL, 0, "has no `addr`");
  check_flaw ("size", FALSE, NULL, 0, "has no `size`");
  FLAW ("size", FALSE,
        "X\x03\x00\x00\x00"
        "abc",
        "has a text as `size`");
  FLAW ("size", FALSE, "\x8a\x01\xff", "as `size`");
  FLAW ("size", FALSE, HUGE, "as `size`");
  FLAW ("size", FALSE, ALMOST, "as `size`");
  FLAW ("size", FALSE, "]", "has a list as `size`");
  FLAW ("size", FALSE, "N", "has None, True or False as `size`");
  FLAW ("addr", FALSE, "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01",
        "a number beyond 64 bits");
  FLAW ("addr", FALSE, ALMOST, "as `addr`"); /* the block would end past 2^64 */
  FLAW ("addr", FALSE, "}", "has a dict as `addr`");
  FLAW ("stream", FALSE, "G\x3f\xe8\x00\x00\x00\x00\x00\x00",
        "has a fraction as `stream`");
  FLAW ("action", FALSE, "K\x05", "has a number as `action`");
  check_flaw ("action", FALSE, NULL, 0, "trace entry 0 of device 0 is a dict");
  check_flaw ("address", TRUE, NULL, 0, "segment 0 (ends at byte");
  FLAW ("address", TRUE, ALMOST, "as `address`");
  FLAW ("total_size", TRUE, HUGE, "as `total_size`");
  FLAW ("device", TRUE, HUGE, "as `device`");
  FLAW ("device", TRUE, "J\x00\x00\x01\x00", "as `device`");
  FLAW ("blocks", TRUE, "K\x05", "has a number as `blocks`");
  FLAW ("blocks", TRUE,
        "](K\x05"
        "e",
        "as `blocks`");
  check_flaw ("total_size", TRUE, NULL, 0, "`segments` holds a dict");
}

/* A list of blocks: one of @state, and once more that very one where it @is_twice. */
static void
check_blocks (const char *state, gboolean is_twice, const char *says)
{
  g_autofree char *text = g_strdup_printf (
      "{'address': B, 'size': 512, 'requested_size': 512, 'state': '%s'}", state);
  g_autoptr (GByteArray) list = g_byte_array_new ();

  put_bytes (list, "](", 2);
  put_value (list, text, NULL);
  put_op (list, 0x94); /* memo 0 */
  if (is_twice)
    put_bytes (list, "h\x00", 2);
  put_op (list, 'e');
  check_flaw ("blocks", TRUE, (const char *) list->data, list->len, says);
}

static void
test_flaws_of_blocks (void)
{
  check_blocks ("asleep", FALSE, "as `state`");
  check_blocks ("active_allocated", TRUE, "as `blocks`");
}

static void
check_top (const char *body, size_t n_bytes, const char *says)
{
  GByteArray *to = pickle_new (4);

  put_bytes (to, body, n_bytes);
  finish_refused (to, says);
}

#define TOP(body, says) check_top (body, sizeof (body) - 1, says)

static void
test_other_pickles (void)
{
  TOP ("K\x05", "is a pickle of a number, not a memory snapshot");
  TOP ("]", "is a pickle of a list");
  TOP ("](K\x05"
       "e",
       "is a pickle of a list");
  TOP ("}", "is a pickle of another dict");
  TOP ("\x8c\x01x\x8c\x01y\x93", "STACK_GLOBAL at byte 8");
  TOP ("}(\x8c\x08segmentsK\x05u", "`segments` is a number");
  TOP ("}(\x8c\x0d"
       "device_tracesNu",
       "`device_traces` is None");
  TOP ("}(\x8c\x0d"
       "device_traces](K\x05"
       "eu",
       "`device_traces` holds a number");
  TOP ("}(\x8c\x0d"
       "device_traces](](K\x05"
       "eeu",
       "trace entry 0 of device 0 is a number");
  TOP ("}(\x8c\x08segments](NK\x01"
       "eu",
       "`segments` holds None");
  /* A list of entries that holds itself. */
  TOP ("}(\x8c\x0d"
       "device_traces](]\x94(h\x00"
       "eeu",
       "trace entry 0 of device 0 is a list");
  /* An entry that is in the list twice. */
  TOP ("}(\x8c\x0d"
       "device_traces](](}\x94(\x8c\x06"
       "action\x8c\x08snapshotuh\x00"
       "eeu",
       "lists a trace entry twice");
}

/* A snapshot without segments is a trace of requests. */
static void
test_no_segments (void)
{
  g_autoptr (TesseraTrace) trace = import_text (
      "{'device_traces': [[" ENTRY ("free_requested", "B", "1000", "0", "5")
      /* No time: none at all. */
      "{'action': 'free_completed', 'addr': B, 'size': 1000, 'stream': 0}]]}");

  g_assert_false (trace->has_segments);
  g_assert_false (trace->has_time);
  g_assert_cmpuint (trace->start.n_blocks, ==, 1);
  g_assert_cmpuint (trace->start.blocks[0].block_bytes, ==, 1024);
  g_assert_cmpuint (trace->start.blocks[0].state, ==, TESSERA_BLOCK_LIVE);
}

/* Cut at 50 places (and at all of the first and last 50): a sentence each time. */
static void
test_truncated (void)
{
  g_autoptr (GByteArray) to = whole_snapshot ();

  put_op (to, '.');
  for (guint n = 0; n < to->len; n += n < 50 || n + 50 > to->len ? 1 : to->len / 50)
    {
      TesseraError error = { 0 };
      TesseraTrace *trace;

      g_assert_cmpint (import (to->data, n, TESSERA_NONE, &error, &trace), ==,
                       TESSERA_BAD_INPUT);
      g_assert_null (trace);
      g_assert_nonnull (strstr (error.text, "in the middle of its data"));
    }
}

/* One bit turned, anywhere: a trace or a sentence. Seed fixed, so a failure repeats. */
static void
test_damaged (void)
{
  g_autoptr (GByteArray) to = whole_snapshot ();
  g_autoptr (GRand) random = g_rand_new_with_seed (20240611);

  put_op (to, '.');
  for (int round = 0; round < 3000; round++)
    {
      guint at = (guint) g_rand_int_range (random, 0, (gint32) to->len);
      guint8 was = to->data[at];
      TesseraError error = { 0 };
      TesseraTrace *trace;
      TesseraStatus status;

      to->data[at] ^= (guint8) (1 << g_rand_int_range (random, 0, 8));
      status = import (to->data, to->len, TESSERA_NONE, &error, &trace);
      g_assert_true ((status == TESSERA_OK) == (trace != NULL));
      g_assert_true ((status == TESSERA_OK) == (error.text[0] == '\0'));
      g_assert_true (g_utf8_validate (error.text, -1, NULL));
      tessera_trace_free (trace);
      to->data[at] = was;
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/snapshot/2.0", test_2_0);
  g_test_add_func ("/snapshot/bare-segments", test_bare_segments);
  g_test_add_func ("/snapshot/whole", test_whole);
  g_test_add_func ("/snapshot/times", test_times);
  g_test_add_func ("/snapshot/pools-of-entries", test_pools_of_entries);
  g_test_add_func ("/snapshot/times-that-go-back", test_times_that_go_back);
  g_test_add_func ("/snapshot/lines", test_lines);
  g_test_add_func ("/snapshot/settings", test_settings);
  g_test_add_func ("/snapshot/annotations", test_annotations);
  g_test_add_func ("/snapshot/annotation-behind", test_annotation_behind);
  g_test_add_func ("/snapshot/annotations-of-devices", test_annotations_of_devices);
  g_test_add_func ("/snapshot/devices", test_devices);
  g_test_add_func ("/snapshot/flaws", test_flaws);
  g_test_add_func ("/snapshot/flaws-of-blocks", test_flaws_of_blocks);
  g_test_add_func ("/snapshot/other-pickles", test_other_pickles);
  g_test_add_func ("/snapshot/no-segments", test_no_segments);
  g_test_add_func ("/snapshot/truncated", test_truncated);
  g_test_add_func ("/snapshot/damaged", test_damaged);
  return g_test_run ();
}
