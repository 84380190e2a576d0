/*
 * Tables and traces of PyTorch's profiler as files to import: what they hold, what they
 * lack, and damaged ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/recorder/imported.h"

#include <glib.h>
#include <string.h>

#include "tests/db/auto.h"
#include "tests/ok.h"
#include "tests/shared.h"

#define MEMORY(ts, tid, index, type, device, addr, bytes, total)                         \
  "{\"ph\":\"i\",\"name\":\"[memory]\",\"cat\":\"cpu_instant_event\",\"tid\":" tid       \
  ",\"ts\":" ts ",\"args\":{\"Ev Idx\":" index ",\"Device Type\":" type                  \
  ",\"Device Id\":" device ",\"Addr\":" addr ",\"Bytes\":" bytes                         \
  ",\"Total Allocated\":" total "}}"
#define SPAN(category, name, tid, ts, dur)                                               \
  "{\"ph\":\"X\",\"cat\":\"" category "\",\"name\":\"" name "\",\"tid\":" tid            \
  ",\"ts\":" ts ",\"dur\":" dur "}"

static TesseraStatus
import (const char *text, size_t n_bytes, TesseraError *error, TesseraTrace **out)
{
  TesseraStream *stream = test_stream (text, n_bytes);
  TesseraStatus status;

  *out = NULL;
  if (!tessera_csv_knows (stream))
    status = tessera_fail (error, TESSERA_FOREIGN, "unknown columns");
  else
    status = tessera_import_csv (stream, error, out);
  tessera_stream_close (stream);
  return status;
}

static TesseraTrace *
read_table (const char *text)
{
  TesseraError error = { 0 };
  TesseraTrace *trace;

  if (import (text, strlen (text), &error, &trace) != TESSERA_OK)
    g_error ("%s", error.text);
  return trace;
}

static const char whole[] =
    "seq,time_us,action,id,size_bytes,stream,iteration,phase,module\n"
    "1,100,alloc,w,1000,0,,,\n"
    "2,110,alloc,a,2000,7,0,forward,layer.0\n"
    "3,120.5,alloc,b,600,7,0,forward,\"layer,1\"\n"
    "4,130,free,a,,7,0,backward,\"layer,1\"\n"
    "5,140,mark,,,,1,backward,\n"
    "6,150,alloc,a,2000,7,1,forward,layer.0\n"
    "\n"
    "7,160,free,old,512,0,1,forward,layer.0\r\n"
    "8,170,alloc,none,0,0,1,forward,layer.0\n"
    "9,180,free,none,0,0,1,forward,layer.0";

static void
test_events (void)
{
  static const uint8_t actions[] = { TESSERA_ALLOC,          TESSERA_ALLOC,
                                     TESSERA_ALLOC,          TESSERA_FREE_REQUESTED,
                                     TESSERA_FREE_COMPLETED, TESSERA_MARK,
                                     TESSERA_ALLOC,          TESSERA_FREE_REQUESTED,
                                     TESSERA_FREE_COMPLETED };
  g_autoptr (TesseraTrace) trace = read_table (whole);

  g_assert_cmpuint (trace->n_events, ==, G_N_ELEMENTS (actions));
  for (size_t i = 0; i < G_N_ELEMENTS (actions); i++)
    g_assert_cmpuint (trace->events[i].action, ==, actions[i]);
  g_assert_false (trace->has_addresses);
  g_assert_false (trace->has_segments);
  g_assert_true (trace->has_time);
  g_assert_cmpint (trace->events[2].at_ns, ==, 20500);
  g_assert_cmpuint (trace->streams[trace->events[1].stream], ==, 7);
  /* Each use of an id has its own address; a free names that of its use. */
  g_assert_cmpuint (trace->events[3].addr, ==, trace->events[1].addr);
  g_assert_cmpuint (trace->events[6].addr, !=, trace->events[1].addr);
  g_assert_cmpuint (trace->events[3].size_bytes, ==, 2000);
  g_assert_cmpuint (trace->start.n_blocks, ==, 1);
  g_assert_cmpuint (trace->start.blocks[0].size_bytes, ==, 512);
  g_assert_false (trace->starts_empty);
  g_assert_cmpuint (trace->end.n_blocks, ==, 3);
  for (size_t i = 1; i < 3; i++)
    g_assert_cmpuint (trace->end.blocks[i - 1].addr, <, trace->end.blocks[i].addr);
  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.empty_blocks"), ==,
                   "1 blocks of 0 bytes left out");
}

static void
test_ranges (void)
{
  g_autoptr (TesseraTrace) trace = read_table (whole);

  g_assert_cmpuint (trace->n_ranges, ==, 10);
  test_range_is (trace, 0, "step 0", 1, 5, TESSERA_RANGE_STEP);
  test_range_is (trace, 1, "forward", 1, 3, TESSERA_RANGE_PHASE);
  test_range_is (trace, 2, "layer.0", 1, 2, TESSERA_RANGE_MODULE);
  test_range_is (trace, 3, "layer,1", 2, 3, TESSERA_RANGE_MODULE);
  test_range_is (trace, 4, "backward", 3, 5, TESSERA_RANGE_PHASE);
  test_range_is (trace, 5, "layer,1", 3, 5, TESSERA_RANGE_MODULE);
  test_range_is (trace, 6, "step 1", 5, 9, TESSERA_RANGE_STEP);
  test_range_is (trace, 7, "backward", 5, 6, TESSERA_RANGE_PHASE);
  test_range_is (trace, 8, "forward", 6, 9, TESSERA_RANGE_PHASE);
  test_range_is (trace, 9, "layer.0", 6, 9, TESSERA_RANGE_MODULE);
  g_assert_cmpuint (trace->ranges[2].parent, ==, 1);
  g_assert_cmpuint (trace->ranges[1].parent, ==, 0);
}

/* Columns in any order, others unknown, optional ones missing, a byte order mark. */
static void
test_columns (void)
{
  TesseraTrace *trace = read_table ("\xef\xbb\xbf\"SIZE_BYTES\", colour ,id,Action\n"
                                    "10,red,\"a \"\"b\"\"\",alloc\n"
                                    "20,blue,c,ALLOC\n");

  g_assert_cmpuint (trace->n_events, ==, 2);
  g_assert_cmpuint (trace->events[1].size_bytes, ==, 20);
  g_assert_false (trace->has_time);
  g_assert_cmpuint (trace->n_ranges, ==, 0);
  tessera_trace_free (trace);

  /* One row without time: no time at all. */
  trace = read_table ("time_us,action,id,size_bytes\n5,alloc,a,1\n,alloc,b,1\n");
  g_assert_false (trace->has_time);
  g_assert_cmpint (trace->events[1].at_ns, ==, 0);
  tessera_trace_free (trace);

  trace = read_table ("action,id,size_bytes\n");
  g_assert_cmpuint (trace->n_events, ==, 0);
  tessera_trace_free (trace);
}

/* A free may leave its size out; another one than the allocation's is counted. */
static void
test_sizes_that_differ (void)
{
  TesseraTrace *trace = read_table ("action,id,size_bytes\nalloc,a,5\nfree,a,\n"
                                    "alloc,a,6\nfree,a,6\nalloc,a,7\nfree,a,8\n"
                                    "free,older,9\n");

  g_assert_cmpstr (tessera_trace_get_meta (trace, "note.size_differs"), ==,
                   "1 frees of another size than their allocation, which was taken");
  g_assert_cmpuint (trace->events[7].size_bytes, ==, 7);
  tessera_trace_free (trace);
  trace = read_table ("action,id,size_bytes\nalloc,a,5\nfree,a,5\n");
  g_assert_null (tessera_trace_get_meta (trace, "note.size_differs"));
  tessera_trace_free (trace);
}

/* At time 5 block 0 ends before block 1 begins. */
static void
test_instance (void)
{
  TesseraTrace *trace =
      read_table ("id,lower,upper,size\n0,2,5,7\n1,5,9,3\n2,0,5,1\n3,0,1,0\n");
  static const struct
  {
    uint8_t action;
    uint64_t size_bytes;
  } events[] = { { TESSERA_ALLOC, 1 },          { TESSERA_ALLOC, 7 },
                 { TESSERA_FREE_REQUESTED, 7 }, { TESSERA_FREE_COMPLETED, 7 },
                 { TESSERA_FREE_REQUESTED, 1 }, { TESSERA_FREE_COMPLETED, 1 },
                 { TESSERA_ALLOC, 3 },          { TESSERA_FREE_REQUESTED, 3 },
                 { TESSERA_FREE_COMPLETED, 3 } };

  g_assert_cmpuint (trace->n_events, ==, G_N_ELEMENTS (events));
  for (size_t i = 0; i < G_N_ELEMENTS (events); i++)
    {
      g_assert_cmpuint (trace->events[i].action, ==, events[i].action);
      g_assert_cmpuint (trace->events[i].size_bytes, ==, events[i].size_bytes);
    }
  g_assert_cmpuint (trace->alignment_bytes, ==, 1);
  g_assert_false (trace->has_time);
  g_assert_true (trace->starts_empty);
  g_assert_nonnull (tessera_trace_get_meta (trace, "note.empty_blocks"));
  tessera_trace_free (trace);
}

static void
test_sentences (void)
{
  static const struct
  {
    const char *text;
    const char *says;
  } cases[] = {
    { "action,id,size_bytes\nalloc,a,abc\n",
      "line 2: size_bytes is \"abc\": expected a whole number of bytes" },
    { "action,id,size_bytes\n\n\nalloc,a,-1\n", "line 4: size_bytes is \"-1\"" },
    { "action,id,size_bytes\nalloc,a,\n", "line 2: size_bytes is \"\"" },
    { "action,id,size_bytes\nalloc,a\n", "line 2: size_bytes is \"\"" },
    { "action,id,size_bytes\nalloc,a,18446744073709551616\n", "line 2: size_bytes is" },
    { "action,id,size_bytes\nalloc,a,18446744073709551615\n",
      "no device has 2^60 bytes" },
    { "action,id,size_bytes\nalloc,,5\n", "line 2: id is empty" },
    { "action,id,size_bytes\nalloc,a,5\nfree,,5\n", "line 3: id is empty" },
    { "action,id,size_bytes\nmove,a,5\n",
      "line 2: action is \"move\": expected alloc, free or mark" },
    { "action,id,size_bytes\nalloc,a,5\nalloc,a,5\n",
      "line 3: id \"a\" is allocated again, and was not freed since line 2" },
    { "action,id,size_bytes\nalloc,a,5\nfree,a,\nfree,a,\n",
      "line 4: id \"a\" is freed twice" },
    { "action,id,size_bytes,stream\nalloc,a,5,x\n",
      "line 2: stream is \"x\": expected a whole number" },
    { "action,id,size_bytes,time_us\nalloc,a,5,noon\n", "line 2: time_us is \"noon\"" },
    { "action,id,size_bytes,time_us\nalloc,a,5,1e300\n", "line 2: time_us is" },
    { "action,id,size_bytes,seq\nalloc,a,5,2\nalloc,b,5,2\n",
      "line 3: seq is 2 after 2" },
    { "action,id,size_bytes\nalloc,\"a,5\n", "line 2: a quote does not end" },
    { "id,lower,upper,size\n0,5,5,1\n", "line 2: upper is 5 and lower 5" },
    { "id,lower,upper,size\n0,1,x,1\n", "line 2: upper is \"x\"" },
    { "id,lower,upper,size\n0,1,2,2000000000000000000\n",
      "line 2: sizes of more than 2^60 bytes" },
    { "action,id,size_bytes\nalloc,a,\xff\xfe\n",
      "line 2: size_bytes is \"\\xff\\xfe\"" },
    { "action,id,size_bytes\nalloc,a,5\nfree,a,x\n", "line 3: size_bytes is \"x\"" },
    { "action,id,size_bytes,ID\nalloc,a,5,b\n", "line 1: the column id is there twice" },
    { "id,lower,size,upper,size\n", "line 1: the column size is there twice" },
    { "a,b,c\n1,2,3\n", "unknown columns" },
    { "id,lower,upper\n0,1,2\n", "unknown columns" },
    { "", "unknown columns" },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      TesseraError error = { 0 };
      TesseraTrace *trace;

      g_assert_cmpint (import (cases[i].text, strlen (cases[i].text), &error, &trace), !=,
                       TESSERA_OK);
      g_assert_null (trace);
      g_assert_true (g_utf8_validate (error.text, -1, NULL));
      test_says (&error, cases[i].says);
    }
}

static void
test_long_line (void)
{
  g_autoptr (GString) text = g_string_new ("action,id,size_bytes\nalloc,");
  TesseraError error = { 0 };
  TesseraTrace *trace;

  while (text->len < (3u << 20))
    g_string_append (text,
                     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
  g_assert_cmpint (import (text->str, text->len, &error, &trace), ==, TESSERA_BAD_INPUT);
  g_assert_nonnull (strstr (error.text, "line 2: the line is longer than 1 MiB"));
}

/* A block from before the file goes; two are made in a function, in a step; one of another device and
 * one of the host are not ours; an address is used again. Entries of another thread have numbers
 * of their own. */
/* clang-format off */
static const char small[] = "{\"traceEvents\":["
  MEMORY ("10.5", "1",  "7", "1", "0", "4096",  "1024",  "9216") ","
  MEMORY ("11",   "2",  "1", "1", "0",  "512", "-2048",  "7168") ","
  MEMORY ("11.5", "1",  "8", "0", "0",   "77",   "100",   "100") ","
  MEMORY ("11.7", "1",  "9", "1", "1",   "88",   "512",   "512") ","
  MEMORY ("12",   "1", "10", "1", "0", "8192",  "4096", "11264") ","
  MEMORY ("13",   "1", "11", "1", "0", "4096", "-1024", "10240") ","
  MEMORY ("14",   "1", "12", "1", "0", "4096",  "1536", "11776") ","
  SPAN ("user_annotation", "ProfilerStep#3", "1", "11.9", "1.5") ","
  SPAN ("python_function", "train.py(7): main", "1", "10", "3.5") ","
  SPAN ("python_function", "torch/nn/modules/linear.py(134): forward", "1", "11.8", "0.9") ","
  SPAN ("python_function", "<built-in method>", "1", "12.5", "0.1") "]}";
/* clang-format on */

static TesseraTrace *
read_text (const char *text, uint32_t device, TesseraStatus expected, const char *words)
{
  TesseraStream *stream = test_stream (text, strlen (text));
  const TesseraOpenOptions options = { .device = device };
  TesseraError error = { 0 };
  TesseraTrace *trace = NULL;

  g_assert_cmpint (tessera_import_kineto (stream, &options, &error, &trace), ==,
                   expected);
  g_assert_true ((trace != NULL) == (expected == TESSERA_OK));
  if (words != NULL)
    test_says (&error, words);
  tessera_stream_close (stream);
  return trace;
}

static void
test_small (void)
{
  TesseraTrace *trace = read_text (small, TESSERA_NONE, TESSERA_OK, NULL);
  static const uint8_t actions[] = {
    TESSERA_ALLOC,          TESSERA_FREE_REQUESTED, TESSERA_FREE_COMPLETED, TESSERA_ALLOC,
    TESSERA_FREE_REQUESTED, TESSERA_FREE_COMPLETED, TESSERA_ALLOC,
  };

  g_assert_cmpuint (trace->n_devices, ==, 2);
  g_assert_cmpuint (trace->n_events, ==, G_N_ELEMENTS (actions));
  for (size_t i = 0; i < trace->n_events; i++)
    g_assert_cmpuint (trace->events[i].action, ==, actions[i]);
  g_assert_cmpint (trace->events[3].at_ns, ==, 1500);
  /* The one that goes, and the 6144 bytes that 9216 holds beyond it and the first. */
  g_assert_cmpuint (trace->start.n_blocks, ==, 2);
  g_assert_cmpuint (trace->start.blocks[0].size_bytes + trace->start.blocks[1].size_bytes,
                    ==, 8192);
  g_assert_cmpuint (trace->end.n_blocks, ==, 3);
  g_assert_cmpuint (trace->events[6].addr, !=, trace->events[0].addr);
  g_assert_cmpuint (trace->n_ranges, ==, 1);
  g_assert_cmpuint (trace->ranges[0].kind, ==, TESSERA_RANGE_STEP);
  g_assert_cmpuint (trace->ranges[0].begin_index, ==, 3);
  g_assert_cmpuint (trace->ranges[0].end_index, ==, 6);
  const uint32_t stack = trace->events[3].stack;
  g_assert_cmpuint (trace->stack_begin[stack + 1] - trace->stack_begin[stack], ==, 2);
  const TesseraFrame *frame =
      &trace->frames[trace->stack_frames[trace->stack_begin[stack]]];
  g_assert_cmpstr (tessera_trace_string (trace, frame->file), ==,
                   "torch/nn/modules/linear.py");
  g_assert_cmpstr (tessera_trace_string (trace, frame->name), ==, "forward");
  g_assert_cmpint (frame->line, ==, 134);
  g_assert_cmpuint (trace->events[1].stack, ==, TESSERA_NONE);
  tessera_trace_free (trace);
  trace = read_text (small, 1, TESSERA_OK, NULL);
  g_assert_cmpuint (trace->n_events, ==, 1);
  tessera_trace_free (trace);
}

static void
test_damaged (void)
{
  static const struct
  {
    const char *text;
    TesseraStatus status;
    const char *words;
  } bad[] = {
    { "{\"traceEvents\":[", TESSERA_BAD_INPUT, "breaks off or is damaged" },
    { "{\"traceEvents\":{}}", TESSERA_FOREIGN, "no traceEvents" },
    { "{\"a\":1}", TESSERA_FOREIGN, "no traceEvents" },
    { "[1]", TESSERA_BAD_INPUT, "profile_memory=True" },
    { "{\"traceEvents\":[]}", TESSERA_BAD_INPUT, "profile_memory=True" },
    { "{\"traceEvents\":[{\"name\":7},{\"name\":\"[memory]\",\"args\":3},[],null]}",
      TESSERA_BAD_INPUT, "profile_memory=True" },
    /* Times, sizes and numbers that make no sense. */
    { "{\"traceEvents\":[" MEMORY ("1e400", "\"x\"", "1e300", "1", "0", "\"a\"",
                                   "9223372036854775807", "1") "]}",
      TESSERA_BAD_INPUT, "profile_memory=True" },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (bad); i++)
    g_assert_null (read_text (bad[i].text, TESSERA_NONE, bad[i].status, bad[i].words));
  tessera_trace_free (
      read_text ("{\"traceEvents\":[" MEMORY ("1e300", "-1", "-5", "1", "99999999", "-1",
                                              "512", "-9223372036854775808") "]}",
                 TESSERA_NONE, TESSERA_OK, NULL));
  g_assert_null (read_text (small, 5, TESSERA_BAD_INPUT, "of that number"));
}

/* Cut off anywhere it is a sentence, not a trace. */
static void
test_cut (void)
{
  for (size_t n = 1; n < strlen (small); n += 7)
    {
      g_autofree char *part = g_strndup (small, n);

      g_assert_null (read_text (part, TESSERA_NONE, TESSERA_BAD_INPUT, NULL));
    }
}

/* The real ones: every total in the file is what the trace holds then. */
static void
test_real (void)
{
  static const char *const names[] = { "kineto/gpt-3steps.json",
                                       "kineto/gpt-3steps-stacks.json" };

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    {
      g_autoptr (TesseraTrace) trace = test_shared_trace (names[i]);
      uint64_t live = 0, most = 0;

      if (trace == NULL)
        return;
      for (size_t k = 0; k < trace->start.n_blocks; k++)
        live += trace->start.blocks[k].size_bytes;
      for (size_t k = 0; k < trace->n_events; k++)
        {
          const TesseraEvent *event = &trace->events[k];

          live += event->action == TESSERA_ALLOC            ? event->size_bytes
                  : event->action == TESSERA_FREE_REQUESTED ? -event->size_bytes
                                                            : 0;
          most = MAX (most, live);
        }
      g_assert_cmpuint (most, ==, 491262976);
      g_assert_cmpuint (trace->n_stacks > 10, ==, i == 1);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/csv/events", test_events);
  g_test_add_func ("/csv/ranges", test_ranges);
  g_test_add_func ("/csv/columns", test_columns);
  g_test_add_func ("/csv/instance", test_instance);
  g_test_add_func ("/csv/sizes-that-differ", test_sizes_that_differ);
  g_test_add_func ("/csv/sentences", test_sentences);
  g_test_add_func ("/csv/long-line", test_long_line);
  g_test_add_func ("/import/kineto/small", test_small);
  g_test_add_func ("/import/kineto/damaged", test_damaged);
  g_test_add_func ("/import/kineto/cut", test_cut);
  g_test_add_func ("/import/kineto/real", test_real);
  return g_test_run ();
}
