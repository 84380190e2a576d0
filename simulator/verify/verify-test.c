/*
 * The replay, on recordings of our own: what the policy did it must recognise, and every
 * change of the record it must notice. On recordings of real PyTorch: every file of the
 * shared data must agree in every address, segment, oom and final block, and wrong rules
 * must not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/db/trace-text.h"

#include <glib.h>
#include <json-glib/json-glib.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/import/private.h"
#include "simulator/private.h"
#include "simulator/verify/private.h"
#include "tests/ok.h"
#include "tests/shared.h"
#include "tests/simulator/made-trace.h"
#include "tests/db/auto.h"

#define MIB ((uint64_t) 1 << 20)

enum
{
  N_HISTORIES = 200,
  N_OPERATIONS = 500
};

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TesseraVerification, tessera_verification_clear)

static TesseraVerification
verify (const TesseraTrace *trace)
{
  TesseraVerification verification;

  OK (tessera_verify (trace, NULL, &verification));
  return verification;
}

/* All that is compared agrees. Returns: how many addresses that were. */
static uint64_t
assert_exact (const TesseraTrace *trace)
{
  g_auto (TesseraVerification) verification = verify (trace);
  uint64_t n_addresses = verification.addresses;

  g_assert_cmpstr (verification.difference, ==, "");
  g_assert_true (tessera_verification_is_exact (&verification));
  g_assert_cmpint (verification.has_history, ==, n_addresses > 0);
  g_assert_cmpuint (verification.addresses_right, ==, n_addresses);
  g_assert_cmpuint (verification.segments_right, ==, verification.segments);
  g_assert_cmpuint (verification.ooms_right, ==, verification.ooms);
  if (verification.has_history)
    g_assert_cmpuint (verification.final_right, ==, verification.final_blocks);
  return n_addresses;
}

/* From the beginning on, and from the middle. */
static void
test_own_recordings (void)
{
  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    for (guint skip = 0; skip <= 1; skip++)
      {
        g_autoptr (TesseraTrace) trace =
            made_trace (seed, skip * (seed % 9) * 40, N_OPERATIONS);

        g_test_message ("seed %u", seed);
        g_assert_cmpuint (assert_exact (trace), >, 0);
      }
}

/* One thing was changed: it, or something later, is named. Returns: the event. */
static uint32_t
assert_differs (const TesseraTrace *trace)
{
  g_auto (TesseraVerification) verification = verify (trace);
  uint32_t first = verification.first_difference;

  g_assert_false (tessera_verification_is_exact (&verification));
  g_assert_cmpstr (verification.difference, !=, "");
  g_assert_cmpuint (verification.addresses_right, <=, verification.addresses);
  if (first == trace->n_events)
    {
      g_assert_true (g_str_has_prefix (verification.difference, "final state: "));
      g_assert_cmpuint (verification.addresses_right, ==, verification.addresses);
    }
  return first;
}

/* A recording that was cut off says nothing of its end, so nothing of it is compared. */
static void
test_killed (void)
{
  g_autoptr (TesseraTrace) trace = made_trace (1, 0, N_OPERATIONS);

  trace->end.n_segments = trace->end.n_blocks = 0;
  g_assert_cmpuint (assert_differs (trace), ==, trace->n_events);
  OK (tessera_trace_set_meta (trace, "format", TESSERA_FORMAT_RECORDED));
  assert_exact (trace);
}

/* A remainder of exactly 1 MiB stays with its block. */
static void
test_threshold_of_split (void)
{
  TesseraRules altered = tessera_rules_pytorch;
  /* 11 MiB - 512 are left of the first */
  g_autoptr (TesseraTrace) trace = test_trace_of (
      "segment_alloc B 20M; alloc B 9M+512; segment_alloc B+32M 12M; alloc B+32M 11M;"
      "end segment B 20M; end segment B+32M 12M; end block B 9M+512 9M+512;"
      "end block B+9M+512 0 11M-512 free; end block B+32M 11M 12M");
  g_auto (TesseraVerification) verification = { 0 };

  assert_exact (trace);

  altered.large_remainder_bytes--;
  OK (tessera_verify_with_rules (trace, &altered, NULL, &verification));
  g_assert_false (tessera_verification_is_exact (&verification));
  g_assert_cmpuint (verification.first_difference, ==, trace->n_events);
}

/* A block older than the trace has a tail of 512 bytes that nothing tells but the request
 * that would have fitted behind it and got a segment of its own. */
static void
test_open_tail (void)
{
  g_autoptr (TesseraTrace) trace =
      test_trace_of ("start segment B 20M; start block B 5M 5M open;"
                     "segment_alloc B+32M 16M; alloc B+32M 15M; free B 5M;"
                     "end segment B 20M; end segment B+32M 16M; end block B 0 20M free;"
                     "end block B+32M 15M 16M");

  assert_exact (trace);
  TesseraVerification verification = verify (trace);
  g_assert_cmpuint (verification.start_block_bytes[0], ==, 5 * MIB + 512);
  g_assert_cmpuint (verification.block_bytes[1], ==, 16 * MIB);
  tessera_verification_clear (&verification);

  /* Where the importer is sure of the size, it is not doubted. */
  trace->start.blocks[0].tail_open = false;
  verification = verify (trace);
  g_assert_cmpuint (verification.first_difference, ==, 1);
  g_assert_cmpuint (verification.addresses_right, ==, 0);
  tessera_verification_clear (&verification);
}

static void
test_nothing_to_verify (void)
{
  g_autoptr (TesseraTrace) trace = test_trace_of ("snapshot 0 0");
  TesseraVerification verification = verify (trace);

  g_assert_false (verification.has_history);
  g_assert_true (tessera_verification_is_exact (&verification));
  tessera_verification_clear (&verification);
  test_tell (trace, "alloc B 512");
  trace->has_segments = false;
  verification = verify (trace);
  g_assert_false (verification.has_history);
  tessera_verification_clear (&verification);
}

/* A state at the start that can't be: named, not crashed on. */
static void
test_impossible_start (void)
{
  g_autoptr (TesseraTrace) trace =
      test_trace_of ("start segment B 2M; start block B+4M 512 512; alloc B 512");
  g_auto (TesseraVerification) verification = verify (trace);

  g_assert_false (tessera_verification_is_exact (&verification));
  g_assert_cmpuint (verification.addresses_right, ==, 0);
}

/* An entry that has an address (of an oom it is the memory free at the driver); NULL where a
 * few draws found none. */
static TesseraEvent *
pick_placed (GRand *rand, TesseraTrace *trace)
{
  for (guint k = 0; k < 20; k++)
    {
      gint32 n_events = (gint32) trace->n_events;
      TesseraEvent *event = &trace->events[g_rand_int_range (rand, 0, n_events)];

      if (event->action <= TESSERA_SEGMENT_UNMAP)
        return event;
    }
  return NULL;
}

/* One entry is changed at a time: an address, or the size of a segment. */
static void
change_entries (TesseraTrace *trace, GRand *rand, guint n_changes)
{
  for (guint k = 0; k < n_changes; k++)
    {
      TesseraEvent *event = pick_placed (rand, trace), was;

      if (event == NULL)
        return;
      was = *event;
      if (event->action >= TESSERA_SEGMENT_ALLOC && g_rand_boolean (rand))
        event->size_bytes += 2 * MIB;
      else
        event->addr ^= (uint64_t) g_rand_int_range (rand, 1, 1 << 30) * 512;
      g_assert_cmpuint (assert_differs (trace), >=, event - trace->events);
      *event = was;
    }
}

/* ... and a block of the state at the end, or a segment. */
static void
change_end (TesseraTrace *trace, GRand *rand, guint n_changes)
{
  TesseraHeld *end = &trace->end;

  for (guint k = 0; k < n_changes; k++)
    {
      TesseraHeldBlock *block =
          &end->blocks[g_rand_int_range (rand, 0, (gint32) end->n_blocks)];
      TesseraSegment *segment =
          &end->segments[g_rand_int_range (rand, 0, (gint32) end->n_segments)];
      TesseraHeldBlock block_was = *block;
      TesseraSegment segment_was = *segment;

      switch (g_rand_int_range (rand, 0, 4))
        {
        case 0:
          block->addr += TESSERA_MIN_BLOCK_BYTES / 2;
          break;
        case 1:
          block->block_bytes += TESSERA_MIN_BLOCK_BYTES;
          break;
        case 2:
          block->state = (uint8_t) ((block->state + g_rand_int_range (rand, 1, 3)) % 3);
          break;
        default:
          segment->size_bytes += TESSERA_MIN_BLOCK_BYTES;
        }
      g_assert_cmpuint (assert_differs (trace), ==, trace->n_events);
      *block = block_was;
      *segment = segment_was;
    }
}

static void
test_changed (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20260103);

  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      g_autoptr (TesseraTrace) trace = made_trace (seed, seed % 9 * 40, N_OPERATIONS);

      g_test_message ("seed %u", seed);
      change_entries (trace, rand, 2);
      change_end (trace, rand, 1);
    }
}

/* Any of the numbers of a file may be anything. */
static void
spoil_event (GRand *rand, TesseraEvent *event)
{
  static const uint64_t extremes[] = {
    0, 1, 512, 2 * MIB, UINT64_MAX, UINT64_MAX - 511, (uint64_t) 1 << 63
  };
  uint64_t value = extremes[g_rand_int_range (rand, 0, G_N_ELEMENTS (extremes))];

  switch (g_rand_int_range (rand, 0, 5))
    {
    case 0:
      event->addr = value;
      break;
    case 1:
      event->size_bytes = value;
      break;
    case 2:
      event->action = (uint8_t) g_rand_int_range (rand, 0, 256);
      break;
    case 3:
      event->stream = (uint16_t) g_rand_int (rand);
      break;
    default:
      event->pool = (uint16_t) g_rand_int (rand);
      break;
    }
}

static void
spoil_held (GRand *rand, TesseraHeld *held)
{
  for (size_t i = 0; i < held->n_blocks; i++)
    if (g_rand_int_range (rand, 0, 20) == 0)
      held->blocks[i].block_bytes = (uint64_t) g_rand_int (rand) << 32;
  for (size_t i = 0; i < held->n_segments; i++)
    if (g_rand_int_range (rand, 0, 20) == 0)
      held->segments[i].addr = UINT64_MAX - g_rand_int (rand);
}

/* Nothing that a file can say breaks the replay; sanitizers watch. */
static void
test_hostile (void)
{
  g_autoptr (GRand) rand = g_rand_new_with_seed (20260106);

  for (guint32 seed = 1; seed <= N_HISTORIES; seed++)
    {
      g_autoptr (TesseraTrace) trace = made_trace (seed, seed % 9 * 40, N_OPERATIONS);

      g_test_message ("seed %u", seed);
      for (gint32 n = g_rand_int_range (rand, 1, 8); n > 0; n--)
        spoil_event (
            rand, &trace->events[g_rand_int_range (rand, 0, (gint32) trace->n_events)]);
      if (seed % 4 == 0)
        spoil_held (rand, &trace->start);
      if (seed % 4 == 1)
        spoil_held (rand, &trace->end);
      g_auto (TesseraVerification) verification = verify (trace);
    }
}

static const char *const folders[] = { "sample", "snapshots/real",
                                       "snapshots/pytorch-2.6", "snapshots/jobs" };

/* The six recorded on real GPUs that have a history. */
static const char *const real_names[] = {
  "cnn-small",           "finetune-2.1-no-time", "large-ctx256-fullstep",
  "medium-seq128-train", "medium-seq512-train",  "xl-ctx128-forward-amp"
};

/* A snapshot does not tell the memory of its device: a file beside the made ones does. */
static void
read_limits (const char *folder, const char *name, TesseraOpenOptions *options)
{
  g_autofree char *beside =
      g_build_filename (g_getenv ("TESSERA_SHARED_DATA"), folder, "params.json", NULL);
  g_autofree char *bare = g_strndup (name, (gsize) (strstr (name, ".pickle") - name));
  g_autoptr (JsonParser) parser = json_parser_new ();

  if (!json_parser_load_from_file (parser, beside, NULL))
    return;
  JsonObject *limits = json_node_get_object (json_parser_get_root (parser));
  limits = json_object_get_object_member (limits, bare);
  options->device_bytes = (uint64_t) json_object_get_int_member (limits, "total");
  options->limit_bytes =
      (uint64_t) json_object_get_int_member_with_default (limits, "limit", 0);
}

/* Returns: NULL when it is not there. */
static TesseraTrace *
open_shared (const char *folder, const char *name)
{
  TesseraOpenOptions options = { .device = TESSERA_NONE };
  g_autofree char *path =
      g_build_filename (g_getenv ("TESSERA_SHARED_DATA"), folder, name, NULL);
  TesseraTrace *trace = NULL;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return NULL;
  read_limits (folder, name, &options);
  WORKS (error, tessera_open (path, &options, &error, &trace));
  return trace;
}

enum
{
  N_CHANGES = 6
};

/* As if the file had said so: the state at the start follows from the changed entry, and
 * what is wrong there shows before it. */
static void
change_file (TesseraTrace *trace, GRand *rand, guint *n_changed, guint *n_noticed)
{
  gsize n_bytes = trace->n_events * sizeof *trace->events;
  g_autofree TesseraEvent *events = g_memdup2 (trace->events, n_bytes);

  for (guint k = 0; k < N_CHANGES; k++)
    {
      TesseraEvent *event = pick_placed (rand, trace);
      TesseraHeld start = trace->start;

      if (event == NULL)
        continue;
      event->addr ^= (uint64_t) g_rand_int_range (rand, 1, 1 << 30) * 512;
      trace->start = (TesseraHeld){ 0 };
      tessera_rewind (trace);
      TesseraVerification verification = verify (trace);
      *n_noticed += !tessera_verification_is_exact (&verification);
      ++*n_changed;
      tessera_verification_clear (&verification);
      free (trace->start.segments);
      free (trace->start.blocks);
      trace->start = start;
      memcpy (trace->events, events, n_bytes); /* rewinding finds pools, too */
    }
}

/* Every file of the folder agrees, and what is changed in it is noticed. */
static void
test_folder (gconstpointer folder)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("TESSERA_SHARED_DATA"), folder, NULL);
  g_autoptr (GDir) dir = g_dir_open (path, 0, NULL);
  g_autoptr (GRand) rand = g_rand_new_with_seed (20260107);
  guint n_changed = 0, n_noticed = 0;
  const char *name;

  if (dir == NULL)
    g_test_skip ("the shared traces are not there");
  while (dir != NULL && (name = g_dir_read_name (dir)) != NULL)
    {
      if (!g_str_has_suffix (name, ".pickle") && !g_str_has_suffix (name, ".pickle.gz"))
        continue;
      g_autoptr (TesseraTrace) trace = open_shared (folder, name);
      if (trace == NULL)
        continue;
      g_test_message ("%s", name);
      g_test_message ("%" G_GUINT64_FORMAT " addresses", assert_exact (trace));
      if (trace->n_events > 1)
        {
          change_entries (trace, rand, N_CHANGES);
          change_end (trace, rand, N_CHANGES / 2);
          change_file (trace, rand, &n_changed, &n_noticed);
        }
    }
  /* Nothing tells the base address of a segment that was free before the trace until it was
   * given back. */
  g_test_message ("%u changed, %u of them noticed", n_changed, n_noticed);
  g_assert_cmpuint (n_noticed * 20, >=, n_changed * 19);
}

typedef struct
{
  const char *name;
  TesseraRules rules;
  bool has_no_tails; /* start blocks are taken as large as their request */
  uint64_t n_right;  /* of all addresses of the six files, up to the first difference */
} AlteredRule;

/* Blocks freed in the trace but allocated before it lose what the importer found out. */
static void
forget_tails (TesseraTrace *trace)
{
  g_autoptr (GHashTable) freed = g_hash_table_new (g_int64_hash, g_int64_equal);

  for (size_t i = 0; i < trace->n_events; i++)
    if (trace->events[i].action == TESSERA_FREE_COMPLETED)
      g_hash_table_add (freed, &trace->events[i].addr);
  for (size_t i = 0; i < trace->start.n_blocks; i++)
    if (g_hash_table_contains (freed, &trace->start.blocks[i].addr))
      {
        TesseraHeldBlock *block = &trace->start.blocks[i];

        block->block_bytes = tessera_round_size (&trace->settings, block->size_bytes);
        block->tail_open = false;
      }
}

static uint64_t
count_right (const AlteredRule *altered, uint64_t *n_addresses)
{
  uint64_t n_right = 0;

  for (guint i = 0; i < G_N_ELEMENTS (real_names); i++)
    {
      g_autofree char *name = g_strconcat ("snapshots/real/", real_names[i], NULL);
      g_autoptr (TesseraTrace) trace = test_shared_trace (name);
      g_auto (TesseraVerification) verification = { 0 };

      if (altered->has_no_tails)
        forget_tails (trace);
      OK (tessera_verify_with_rules (trace, &altered->rules, NULL, &verification));
      n_right += verification.addresses_right;
      *n_addresses += verification.addresses;
    }
  return n_right;
}

/* The last differs in no address of these files; verify-test has a case made for it. */
static void
test_altered_rules (void)
{
  const TesseraRules right = tessera_rules_pytorch;
  AlteredRule altered[] = {
    { .name = "PyTorch's", .n_right = 29029 },
    { .name = "split at >= 512", .n_right = 22544 },
    { .name = "ties to the high address", .n_right = 81 },
    { .name = "20 MiB at exactly 10 MiB", .n_right = 19680 },
    { .name = "small pool below 1 MiB", .n_right = 17099 },
    { .name = "small flushed first", .n_right = 22260 },
    { .name = "no tail", .has_no_tails = true, .n_right = 21529 },
    { .name = "forward merge only", .n_right = 302 },
    { .name = "split at >= 1 MiB", .n_right = 29029 },
  };

  g_autofree char *there = test_shared (folders[1]);

  if (there == NULL)
    return;
  for (guint i = 0; i < G_N_ELEMENTS (altered); i++)
    altered[i].rules = right;
  altered[1].rules.large_remainder_bytes = TESSERA_MIN_BLOCK_BYTES;
  altered[2].rules.equal_sizes_from_the_top = true;
  altered[3].rules.made_to_measure_bytes++;
  altered[4].rules.small_bytes--;
  altered[5].rules.small_pool_first = true;
  altered[7].rules.forward_merge_only = true;
  altered[8].rules.large_remainder_bytes--;
  for (guint i = 0; i < G_N_ELEMENTS (altered); i++)
    {
      uint64_t n_addresses = 0, n_right = count_right (&altered[i], &n_addresses);

      g_test_message ("%s: %" G_GUINT64_FORMAT, altered[i].name, n_right);
      g_assert_cmpuint (n_addresses, ==, 29029);
      g_assert_cmpuint (n_right, ==, altered[i].n_right);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/verify/own-recordings", test_own_recordings);
  g_test_add_func ("/verify/killed", test_killed);
  g_test_add_func ("/verify/threshold-of-split", test_threshold_of_split);
  g_test_add_func ("/verify/open-tail", test_open_tail);
  g_test_add_func ("/verify/nothing", test_nothing_to_verify);
  g_test_add_func ("/verify/impossible-start", test_impossible_start);
  g_test_add_func ("/verify/changed", test_changed);
  g_test_add_func ("/verify/hostile", test_hostile);
  for (guint i = 0; i < G_N_ELEMENTS (folders); i++)
    {
      g_autofree char *name = g_strconcat ("/verify-real/", folders[i], NULL);

      g_test_add_data_func (name, folders[i], test_folder);
    }
  g_test_add_func ("/verify-real/altered-rules", test_altered_rules);
  return g_test_run ();
}
