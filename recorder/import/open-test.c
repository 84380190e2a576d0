/*
 * Tests of opening files: by content, with gzip, progress and cancel, and every real
 * file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <glib/gstdio.h>

#include "db/store.h"
#include "tests/db/test-place.h"
#include "tests/recorder/imported.h"
#include "tests/recorder/snapshot-writer.h"
#include "tests/shared.h"

static TestPlace place; /* for files made here */

static char *
write_file (const char *name, const void *bytes, size_t n_bytes)
{
  char *path = g_build_filename (place.folder, name, NULL);

  g_assert_true (g_file_set_contents (path, bytes, (gssize) n_bytes, NULL));
  return path;
}

/* Behind what the file has, as a member of its own. */
static char *
write_gzip (const char *name, const void *bytes, size_t n_bytes)
{
  char *path = g_build_filename (place.folder, name, NULL);
  gzFile file = gzopen (path, "ab1");

  g_assert_nonnull (file);
  g_assert_cmpint (gzwrite (file, bytes, (unsigned) n_bytes), ==, (int) n_bytes);
  g_assert_cmpint (gzclose (file), ==, Z_OK);
  return path;
}

/* A snapshot of @n entries. */
static GByteArray *
snapshot_of (int n)
{
  static const char *const actions[] = { "alloc", "free_requested", "free_completed" };
  g_autoptr (GString) text = g_string_new (
      "{'segments': [{'device': 0, 'address': 4096, 'total_size': 2M, 'stream': 0,"
      " 'segment_type': 'small', 'blocks': [" BLOCK (
          "4096", "2M", "0", "inactive") "]}], 'device_traces': [[");
  GByteArray *to;

  for (int i = 0; i < n; i++)
    g_string_append_printf (text, ENTRY ("%s", "4096", "512", "0", "%d"), actions[i % 3],
                            i + 1);
  g_string_append (text, "]]}");
  to = pickle_of (text->str, NULL);
  put_op (to, '.');
  return to;
}

static TesseraStatus
open_with (const char *path,
           const TesseraProgress *progress,
           TesseraError *error,
           TesseraTrace **out)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE, .progress = progress };
  TesseraStatus status;

  *error = (TesseraError){ 0 };
  status = tessera_open (path, &options, error, out);
  g_assert_true ((status == TESSERA_OK) == (*out != NULL));
  g_assert_true ((status == TESSERA_OK) == (error->text[0] == '\0'));
  g_assert_true (g_utf8_validate (error->text, -1, NULL));
  return status;
}

static void
check_refused (const char *path, TesseraStatus expected, const char *says)
{
  TesseraError error;
  TesseraTrace *trace;

  g_assert_cmpint (open_with (path, NULL, &error, &trace), ==, expected);
  test_says (&error, says);
}

static void
test_foreign (void)
{
  static const struct
  {
    const char *name;
    const char *bytes;
    size_t n_bytes;
    TesseraStatus status;
    const char *says;
  } cases[] = {
    { "empty.pickle", "", 0, TESSERA_BAD_INPUT, "empty.pickle is empty" },
    { "notes.pickle", "dear diary\n", 11, TESSERA_FOREIGN, "notes.pickle is text, but" },
    { "a.json", "{\"traceEvents\": []}", 19, TESSERA_BAD_INPUT, "profile_memory=True" },
    { "b.json", "{\"a\": [1]}", 10, TESSERA_FOREIGN, "is JSON" },
    { "a.html", "<!DOCTYPE html>", 15, TESSERA_FOREIGN, "is a web page" },
    { "a.pt", "PK\3\4....", 8, TESSERA_FOREIGN, "is a zip archive" },
    { "utf16.csv",
      "\xff\xfe"
      "i\0d\0,\0",
      8, TESSERA_FOREIGN, "utf16.csv is text in UTF-16: save it as UTF-8" },
    { "big.csv", "\xfe\xff\0i\0d\0,", 8, TESSERA_FOREIGN, "is text in UTF-16" },
    { "bare.csv", "i\0d\0,\0", 6, TESSERA_FOREIGN, "is text in UTF-16" },
    { "a.bin", "\1\2\3\4", 4, TESSERA_FOREIGN, "begins with byte 0x01" },
    { "a.zst", "\x28\xb5\x2f\xfd...", 7, TESSERA_FOREIGN, "zstd" },
    { "bad.gz", "\x1f\x8b\x08\x00oh no, this is no gzip", 26, TESSERA_BAD_INPUT,
      "bad.gz cannot be read" },
    { "short.gz", "\x1f\x8b", 2, TESSERA_BAD_INPUT, "cut off" },
  };

  g_autofree char *pipe_path = g_build_filename (place.folder, "pipe.csv", NULL);

  g_assert_cmpint (mkfifo (pipe_path, 0600), ==, 0);
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      g_autofree char *path =
          write_file (cases[i].name, cases[i].bytes, cases[i].n_bytes);

      check_refused (path, cases[i].status, cases[i].says);
    }
  check_refused (place.folder, TESSERA_BAD_INPUT, "is a folder");
  check_refused ("/dev/null", TESSERA_BAD_INPUT, "/dev/null is a device or pipe");
  check_refused (pipe_path, TESSERA_BAD_INPUT, "pipe.csv is a device or pipe");
  check_refused ("/no/such/file.pickle", TESSERA_IO,
                 "/no/such/file.pickle cannot be opened: ");
}

/* Of a name that leaves the sentence no room its end is kept, in whole characters. */
static void
test_long_name (void)
{
  g_autoptr (GString) path = g_string_new ("/no");

  for (int i = 0; i < 200; i++)
    g_string_append (path, "/\303\244x");
  for (int i = 0; i < 3; i++)
    {
      TesseraError error;
      TesseraTrace *trace;

      g_string_append (path, "y");
      g_assert_cmpint (open_with (path->str, NULL, &error, &trace), ==, TESSERA_IO);
      g_assert_true (g_str_has_prefix (error.text, "..."));
      g_assert_nonnull (strstr (error.text, "/\303\244xy"));
      g_assert_nonnull (strstr (error.text, " cannot be opened: "));
      g_assert_null (strchr (error.text, '\\'));
    }
}

static void
test_permission (void)
{
  g_autofree char *path = write_file ("closed.pickle", "\x80\x04N.", 4);

  if (geteuid () == 0)
    {
      g_test_skip ("root may read everything");
      return;
    }
  g_assert_cmpint (g_chmod (path, 0), ==, 0);
  check_refused (path, TESSERA_IO, "closed.pickle cannot be opened: ");
}

static void
test_gzip (void)
{
  g_autoptr (GByteArray) to = snapshot_of (30000);
  g_autofree char *packed = write_gzip ("packed.pickle.gz", to->data, to->len);
  g_autofree char *bytes = NULL;
  g_autofree char *twice = NULL;
  gsize n_bytes;
  TesseraError error;
  TesseraTrace *trace;

  OK (open_with (packed, NULL, &error, &trace));
  g_assert_cmpuint (trace->n_events, ==, 30000);
  g_assert_cmpstr (trace->source, ==, "packed.pickle.gz");
  tessera_trace_free (trace);

  /* Cut anywhere: a sentence. */
  g_assert_true (g_file_get_contents (packed, &bytes, &n_bytes, NULL));
  for (int i = 1; i < 50; i++)
    {
      g_autofree char *cut = write_file ("cut.gz", bytes, n_bytes * (gsize) i / 50);

      check_refused (cut, TESSERA_BAD_INPUT, "cut.gz");
    }

  /* Two members, as `cat a.gz b.gz` makes them, are one content. */
  g_free (write_gzip ("twice.gz", to->data, to->len / 2));
  twice = write_gzip ("twice.gz", to->data + to->len / 2, to->len - to->len / 2);
  OK (open_with (twice, NULL, &error, &trace));
  g_assert_cmpuint (trace->n_events, ==, 30000);
  tessera_trace_free (trace);
}

static void
test_progress (void)
{
  g_autoptr (GByteArray) to = snapshot_of (60000);
  char *paths[] = { write_file ("plain.pickle", to->data, to->len),
                    write_gzip ("packed.gz", to->data, to->len) };

  for (size_t i = 0; i < G_N_ELEMENTS (paths); i++)
    {
      TestWatch self = { .n_allowed = UINT_MAX };
      TesseraProgress progress = { .report = test_watch, .user = &self };
      TesseraError error;
      TesseraTrace *trace;
      unsigned n_calls;

      OK (open_with (paths[i], &progress, &error, &trace));
      tessera_trace_free (trace);
      g_assert_cmpfloat (self.last, ==, 1);
      n_calls = self.n_calls;
      g_assert_cmpuint (n_calls, >, 1);
      g_assert_cmpuint (n_calls, <, 500);
      for (unsigned n_allowed = 0; n_allowed < n_calls; n_allowed++)
        {
          self = (TestWatch){ .n_allowed = n_allowed };
          g_assert_cmpint (open_with (paths[i], &progress, &error, &trace), ==,
                           TESSERA_CANCELLED);
          g_assert_nonnull (strstr (error.text, "was stopped as asked"));
          g_assert_cmpuint (self.n_calls, ==, n_allowed + 1);
        }
      g_free (paths[i]);
    }
}

static void
test_limits (void)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE,
                                       .device_bytes = 5,
                                       .limit_bytes = 7 };
  g_autoptr (GByteArray) to = snapshot_of (3);
  g_autofree char *path = write_gzip ("run.pickle.gz", to->data, to->len);
  TesseraError error;
  TesseraTrace *trace;

  OK (tessera_open (path, &options, &error, &trace));
  g_assert_cmpuint (trace->device_bytes, ==, 5);
  g_assert_cmpuint (trace->limit_bytes, ==, 7);
  tessera_trace_free (trace);
}

/* What is saved opens again, under the name of its origin; a plan is no trace. */
/* What no allocator can be asked for is refused here, where the file has a name. */
static void
check_odd_segments (TesseraTrace *trace, const char *path)
{
  static const uint64_t odd_bytes[] = { 0, (20 << 20) + 1, UINT64_C (1) << 62 };
  TesseraError error;

  for (guint i = 0; i < G_N_ELEMENTS (odd_bytes); i++)
    {
      trace->settings.large_segment_bytes = odd_bytes[i];
      OK (tessera_trace_save (trace, path, NULL, &error));
      check_refused (path, TESSERA_BAD_INPUT, "saved.tsr is damaged: in table recording");
    }
}

static void
test_databases (void)
{
  g_autoptr (GByteArray) to = snapshot_of (3);
  g_autofree char *path = write_file ("origin.pickle", to->data, to->len);
  g_autofree char *saved = g_build_filename (place.folder, "saved.tsr", NULL);
  g_autofree char *planned = g_build_filename (place.folder, "planned.tsp", NULL);
  TesseraError error;
  TesseraTrace *trace;
  TesseraPlan *plan;

  OK (open_with (path, NULL, &error, &trace));
  OK (tessera_trace_save (trace, saved, NULL, &error));
  tessera_trace_free (trace);
  OK (open_with (saved, NULL, &error, &trace));
  g_assert_cmpuint (trace->n_events, ==, 3);
  g_assert_cmpstr (trace->source, ==, "origin.pickle");
  check_odd_segments (trace, saved);
  tessera_trace_free (trace);

  OK (tessera_plan_new (&plan));
  plan->alignment_bytes = 512;
  if (tessera_plan_save (plan, planned, &error) != TESSERA_OK)
    g_error ("%s", error.text);
  tessera_plan_free (plan);
  check_refused (planned, TESSERA_FOREIGN, "planned.tsp is a plan (.tsp)");
}

/* Figures of the README files beside them, and of the reference simulator (start blocks).
 */
static const struct
{
  const char *path;
  size_t n_events, n_allocs, n_ooms, n_start_blocks, n_end_blocks, n_streams;
} real_files[] = {
  { "snapshots/real/medium-seq128-train.pickle", 19136, 6526, 0, 664, 918, 1 },
  { "snapshots/real/medium-seq512-train.pickle", 22332, 7591, 0, 664, 1041, 1 },
  { "snapshots/real/large-ctx256-fullstep.pickle", 20128, 6769, 0, 326, 1711, 1 },
  { "snapshots/real/xl-ctx128-forward-amp.pickle", 5992, 2703, 0, 324, 1758, 1 },
  { "snapshots/real/cnn-small.pickle", 5803, 1935, 0, 31, 54, 1 },
  { "snapshots/real/finetune-2.1-no-time.pickle", 10307, 3505, 0, 622, 1079, 1 },
  { "snapshots/real/inference-oom-2.0-format.pickle", 1, 0, 0, 460, 463, 1 },
  { "snapshots/pytorch-2.6/c_exp_1.pickle", 9426, 3118, 6, 230, 523, 3 },
  { "snapshots/pytorch-2.6/c_pool_1.pickle", 7534, 2594, 0, 192, 528, 2 },
  { "snapshots/pytorch-2.6/c_split_1.pickle", 9628, 3108, 8, 187, 416, 2 },
  { "snapshots/pytorch-2.6/f_streams_oom.pickle", 9156, 3123, 2, 187, 532, 4 },
  { "snapshots/pytorch-2.6/t_exp.pickle", 2500, 847, 1, 326, 549, 3 },
  { "snapshots/jobs/fsdp2_7b_r3of16.pickle", 90163, 30571, 0, 0, 1034, 3 },
  { "snapshots/jobs/fsdp1_7b_r3of16_late.pickle", 78874, 26391, 0, 0, 329, 4 },
  { "snapshots/jobs/p_fsdp1_late_nolimit_exp_16g.pickle", 80300, 26391, 0, 0, 287, 4 },
  { "snapshots/jobs/meg_pp4vp2_tp2_rcfull.pickle", 82795, 27629, 0, 0, 142, 1 },
  { "snapshots/jobs/moe64_perm_moeck.pickle", 92743, 31645, 0, 0, 1960, 1 },
  { "snapshots/jobs/unet_var.pickle", 83593, 28746, 0, 0, 1699, 1 },
  { "snapshots/jobs/llama1b_var_length.pickle", 119961, 40250, 0, 0, 488, 1 },
  { "snapshots/jobs/llama1b_var_length_batch.pickle", 139446, 46680, 0, 0, 561, 1 },
  { "snapshots/jobs/hf_qwen3moe_eager.pickle", 635296, 211962, 0, 0, 546, 1 },
  { "sample/finetune-oom.pickle", 33457, 11410, 1, 0, 476, 1 },
  { "sample/pretrain-gpt.pickle", 35951, 12259, 0, 0, 482, 1 },
};

static void
test_real (gconstpointer data)
{
  size_t i = GPOINTER_TO_SIZE (data);
  g_autoptr (TesseraTrace) trace = test_shared_trace (real_files[i].path);
  size_t counts[TESSERA_MARK + 1] = { 0 };

  if (trace == NULL)
    return;
  for (size_t k = 0; k < trace->n_events; k++)
    counts[trace->events[k].action]++;
  g_assert_cmpuint (trace->n_events, ==, real_files[i].n_events);
  g_assert_cmpuint (counts[TESSERA_ALLOC], ==, real_files[i].n_allocs);
  g_assert_cmpuint (counts[TESSERA_OOM], ==, real_files[i].n_ooms);
  g_assert_cmpuint (trace->start.n_blocks, ==, real_files[i].n_start_blocks);
  g_assert_cmpuint (trace->end.n_blocks, ==, real_files[i].n_end_blocks);
  g_assert_cmpuint (trace->n_streams, ==, real_files[i].n_streams);
  test_start_is_sound (trace);
  for (size_t k = 0; k < trace->start.n_blocks; k++)
    g_assert_cmpuint (trace->start.blocks[k].block_bytes, >=,
                      trace->start.blocks[k].size_bytes);
}

int
main (int argc, char **argv)
{
  int rc;

  g_test_init (&argc, &argv, NULL);
  test_place_begin (&place, NULL);
  g_test_add_func ("/open/foreign", test_foreign);
  g_test_add_func ("/open/long-name", test_long_name);
  g_test_add_func ("/open/permission", test_permission);
  g_test_add_func ("/open/gzip", test_gzip);
  g_test_add_func ("/open/progress", test_progress);
  g_test_add_func ("/open/limits", test_limits);
  g_test_add_func ("/open/databases", test_databases);
  for (size_t i = 0; i < G_N_ELEMENTS (real_files); i++)
    {
      g_autofree char *base = g_path_get_basename (real_files[i].path);
      g_autofree char *name = g_strconcat ("/open/real/", base, NULL);

      g_test_add_data_func (name, GSIZE_TO_POINTER (i), test_real);
    }
  rc = g_test_run ();
  test_place_end (&place, NULL);
  return rc;
}
