/*
 * Traces of PyTorch's profiler: what they hold, what they lack, and damaged ones.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "recorder/import/private.h"
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
  TesseraStream *stream = tessera_stream_new (text, strlen (text));
  const TesseraOpenOptions options = { .device = device };
  TesseraError error = { 0 };
  TesseraTrace *trace = NULL;

  g_assert_cmpint (tessera_import_kineto (stream, &options, &error, &trace), ==,
                   expected);
  g_assert_true ((trace != NULL) == (expected == TESSERA_OK));
  if (words != NULL && strstr (error.text, words) == NULL)
    g_error ("\"%s\" is not in \"%s\"", words, error.text);
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
      TesseraTrace *trace = test_shared_trace (names[i]);
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
      tessera_trace_free (trace);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/import/kineto/small", test_small);
  g_test_add_func ("/import/kineto/damaged", test_damaged);
  g_test_add_func ("/import/kineto/cut", test_cut);
  g_test_add_func ("/import/kineto/real", test_real);
  return g_test_run ();
}
