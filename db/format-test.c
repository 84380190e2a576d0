/*
 * docs/FORMAT.md is true: each of its queries is run on a small trace whose answers were
 * worked out by hand, its tables and columns are those of the schema, and the views say
 * what a naive walk over the events says.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <glib/gstdio.h>
#include <sqlite3.h>
#include <string.h>

#include "db/plan.h"
#include "db/store/private.h"
#include "db/store.h"
#include "tests/db/test-place.h"
#include "tests/db/test-traces.h"
#include "tests/db/trace-text.h"

#define SEED 20240517
#define SQL_OK(db, call)                                                                 \
  G_STMT_START                                                                           \
  {                                                                                      \
    if ((call) != SQLITE_OK)                                                             \
      g_error ("%s", sqlite3_errmsg (db));                                               \
  }                                                                                      \
  G_STMT_END

static uint32_t
add_stack (TesseraTrace *trace, const char *const *files, const int64_t *lines, size_t n)
{
  uint32_t frames[4], stack, name;

  OK (tessera_trace_intern (trace, "f", 1, &name));
  for (size_t i = 0; i < n; i++)
    {
      TesseraFrame frame = { .name = name, .line = lines[i] };

      OK (tessera_trace_intern (trace, files[i], strlen (files[i]), &frame.file));
      OK (tessera_trace_add_frame (trace, &frame, &frames[i]));
    }
  OK (tessera_trace_add_stack (trace, frames, n, &stack));
  return stack;
}

static void
add_range (TesseraTrace *trace, const char *name, int kind, uint32_t begin, uint32_t end)
{
  TesseraRange range = { .begin_index = begin,
                         .end_index = end,
                         .begin_ns = begin * 1000,
                         .end_ns = end * 1000,
                         .kind = (uint8_t) kind };

  OK (tessera_trace_intern (trace, name, strlen (name), &range.name));
  OK (tessera_trace_add_range (trace, &range));
}

/* Rounded to 512: 1,000 -> 1,024; 300,000 -> 300,032; 500,000 -> 500,224; 10,000,000 ->
 * 10,000,384. One block is there at the start, in a segment of 2 MiB. */
static TesseraTrace *
known_trace (void)
{
  static const char *const deep_files[] = { "x/torch/nn.py", "train.py", "train.py" };
  static const int64_t deep_lines[] = { 5, 20, 10 };
  TesseraTrace *trace = NULL;
  uint16_t side;

  OK (tessera_trace_new (&trace));
  OK (tessera_trace_add_stream (trace, 77, &side));
  uint32_t deep = add_stack (trace, deep_files, deep_lines, 3);
  uint32_t shallow = add_stack (trace, deep_files + 2, deep_lines + 2, 1);
  OK (tessera_trace_add_segment (&trace->start,
                                 &(TesseraSegment){ .addr = 0x1000000,
                                                    .size_bytes = 2 * MIB,
                                                    .stack = TESSERA_NONE }));
  OK (tessera_trace_add_block (&trace->start,
                               &(TesseraHeldBlock){ .addr = 0x1000000,
                                                    .size_bytes = 1000,
                                                    .stack = shallow,
                                                    .state = TESSERA_BLOCK_LIVE }));
  {
    const TesseraEvent events[] = {
      { 0x1001000, 500000, 0, deep, 0, 0, TESSERA_ALLOC, 0 },
      { 0x1100000, 300000, 0, shallow, 0, 0, TESSERA_ALLOC, 0 },
      { 0x1001000, 500000, 0, deep, 0, 0, TESSERA_FREE_REQUESTED, 0 },
      { 0x1001000, 500000, 0, deep, 0, 0, TESSERA_FREE_COMPLETED, 0 },
      { 0x2000000, 20 * MIB, 0, deep, 0, 0, TESSERA_SEGMENT_ALLOC, 0 },
      { 0x2000000, 10000000, 0, deep, 0, 0, TESSERA_ALLOC, 0 },
      { 0x2a00000, 500000, 0, deep, side, 0, TESSERA_ALLOC, 0 },
      { 0x2a00000, 500000, 0, shallow, side, 0, TESSERA_FREE_REQUESTED, 0 },
      { 5000000, 1 << 30, 0, deep, 0, 0, TESSERA_OOM, 0 },
      { 0x2a00000, 500000, 0, shallow, side, 0, TESSERA_FREE_COMPLETED, 0 },
      { 0x1001000, 300000, 0, TESSERA_NONE, 0, 0, TESSERA_ALLOC, 0 },
      { 0x1100000, 300000, 0, shallow, 0, 0, TESSERA_FREE_REQUESTED, 0 },
      { 0x1100000, 300000, 0, shallow, 0, 0, TESSERA_FREE_COMPLETED, 0 },
      { 0, 0, 0, TESSERA_NONE, 0, 0, TESSERA_MARK, 0 },
    };

    for (uint32_t i = 0; i < G_N_ELEMENTS (events); i++)
      {
        TesseraEvent event = events[i];

        event.at_ns = i * 1000000;
        OK (tessera_trace_add_event (trace, &event));
      }
  }
  add_range (trace, "step 1", TESSERA_RANGE_STEP, 0, 5);
  add_range (trace, "step 2", TESSERA_RANGE_STEP, 5, 14);
  add_range (trace, "step 3", TESSERA_RANGE_STEP, 14, 14);
  add_range (trace, "forward", TESSERA_RANGE_PHASE, 0, 2);
  add_range (trace, "forward", TESSERA_RANGE_PHASE, 5, 7);
  add_range (trace, "backward", TESSERA_RANGE_PHASE, 2, 5);
  tessera_trace_settle_ranges (trace);
  return trace;
}

/* By the number in the heading. */
static const char *const answers[] = {
  NULL,
  /* 1 */ "6|0.006|10801000|10801664|23068672\n",
  /* 2 */ "10000000|5|NULL|0\n500000|6|9|1\n300000|1|12|0\n1000|0|NULL|0\n",
  /* 3 */ "train.py|20|10500608|2\ntrain.py|10|301056|2\n",
  /* 4 */
  "0|501000|501000\n7|801000|801000\n14|301000|301000\n21|301000|301000\n"
  "28|301000|301000\n35|10301000|10301000\n42|10801000|10801000\n"
  "50|10301000|10301000\n64|10301000|10301000\n71|10601000|10601000\n"
  "78|10301000|10301000\n85|10301000|10301000\n",
  /* 5 */ "step 1|2|800000.0|500000\nstep 2|3|10800000.0|10000000\nstep 3|0|0.0|NULL\n",
  /* 6 */
  "10000000|5|0|f|x/torch/nn.py|5\n300000|10|0|NULL|NULL|NULL\n"
  "1000|0|1|f|train.py|10\n",
  /* 7 */ "500000|2|1000000\n300000|2|600000\n10000000|1|10000000\n",
  /* 8 */ "forward|2|4|11300000.0\nbackward|1|0|0.0\n",
  /* 9 */ "8|1073741824|5000000|23068672|12267008\n",
  /* 10 */ "500000|2|2.0\n500000|1|1.0\n300000|10|10.0\n",
  /* 11 */ "1536|1024|50.0|by hand|no step repeats\n",
  /* 12 */ "large|1|1024\nsmall|2|1024\n",
};

#define FIRST_PLAN_QUESTION 11

static TesseraPlan *
known_plan (void)
{
  TesseraPlan *plan = NULL;

  OK (tessera_plan_new (&plan));
  plan->alignment_bytes = 512;
  plan->n_positions = 10;
  plan->height_bytes = 1536;
  plan->bound_bytes = 1024;
  plan->strategy = strdup ("by hand");
  plan->follow_reason = strdup ("no step repeats");
  plan->sections = calloc (1, sizeof *plan->sections);
  plan->sections[plan->n_sections++] = (TesseraSection){ .end = 10, .n_slots = 3 };
  plan->groups = calloc (2, sizeof *plan->groups);
  plan->groups[plan->n_groups++].name = strdup ("small");
  plan->groups[plan->n_groups++].name = strdup ("large");
  plan->slots = calloc (3, sizeof *plan->slots);
  plan->slots[plan->n_slots++] =
      (TesseraSlot){ .block_bytes = 512, .phase = TESSERA_NONE };
  plan->slots[plan->n_slots++] =
      (TesseraSlot){ .block_bytes = 512, .phase = TESSERA_NONE };
  plan->slots[plan->n_slots++] =
      (TesseraSlot){ .block_bytes = 1024, .phase = TESSERA_NONE, .group = 1 };
  return plan;
}

static char *
read_document (void)
{
  g_autofree char *path =
      g_build_filename (g_getenv ("TESSERA_SOURCE_ROOT"), "docs", "FORMAT.md", NULL);
  char *text = NULL;

  g_assert_true (g_file_get_contents (path, &text, NULL, NULL));
  return text;
}

static void
test_questions (TestPlace *place, gconstpointer data)
{
  g_autofree char *document = read_document ();
  g_autofree char *plan_path = g_strconcat (place->path, ".tsp", NULL);
  g_auto (GStrv) sections = g_strsplit (document, "\n### ", -1);
  g_autoptr (TesseraTrace) trace = known_trace ();
  g_autoptr (TesseraPlan) plan = known_plan ();
  unsigned n_asked = 0;

  test_save (place, trace);
  OK (tessera_plan_save (plan, plan_path, NULL));
  for (size_t i = 0; sections[i]; i++)
    {
      unsigned number = (unsigned) g_ascii_strtoull (sections[i], NULL, 10);
      char *sql = strstr (sections[i], "```sql\n");
      g_autofree char *answer = NULL;

      if (!sql)
        continue;
      sql += strlen ("```sql\n");
      *strstr (sql, "```") = '\0';
      g_assert_cmpuint (number, ==, ++n_asked);
      g_assert_cmpuint (number, <, G_N_ELEMENTS (answers));
      g_test_message ("question %u", number);
      answer = test_ask (number < FIRST_PLAN_QUESTION ? place->path : plan_path, sql);
      g_assert_cmpstr (answer, ==, answers[number]);
    }
  g_assert_cmpuint (n_asked, ==, G_N_ELEMENTS (answers) - 1);
  g_remove (plan_path);
}

/* The answer of the trace, then that of the plan. */
static char *
ask_both (const char *trace_path, const char *plan_path, const char *sql)
{
  g_autofree char *of_trace = test_ask (trace_path, sql);
  g_autofree char *of_plan = test_ask (plan_path, sql);

  return g_strconcat (of_trace, of_plan, NULL);
}

/* Every table, view and column is described, in backquotes, in a table of the document.
 */
static void
test_document_is_complete (TestPlace *place, gconstpointer data)
{
  g_autofree char *document = read_document ();
  g_autofree char *names = NULL;
  g_autofree char *plan_path = g_strconcat (place->path, ".tsp", NULL);
  g_autoptr (TesseraTrace) trace = known_trace ();
  g_autoptr (TesseraPlan) plan = known_plan ();

  test_save (place, trace);
  OK (tessera_plan_save (plan, plan_path, NULL));
  names = ask_both (place->path, plan_path,
                    "SELECT schema.name, column.name"
                    " FROM sqlite_schema AS schema"
                    " JOIN pragma_table_info (schema.name) AS column"
                    " WHERE column.name NOT IN ('recording_index', 'device_index',"
                    " 'meta_index', 'plan_index',"
                    " 'plan_edit_index', 'crossing_index', 'room_index', 'region_index', "
                    "'length_plan_index', 'length_step_index',"
                    " 'length_order_edge_index')");
  g_auto (GStrv) rows = g_strsplit (names, "\n", -1);
  g_assert_cmpuint (g_strv_length (rows), >, 150);
  for (size_t i = 0; rows[i] && *rows[i]; i++)
    {
      g_auto (GStrv) parts = g_strsplit (rows[i], "|", 2);
      g_autofree char *table = g_strdup_printf ("`%s`", parts[0]);
      g_autofree char *column = g_strdup_printf ("`%s`", parts[1]);

      if (!strstr (document, table) || !strstr (document, column))
        g_error ("docs/FORMAT.md does not describe %s.%s", parts[0], parts[1]);
    }
  g_remove (plan_path);
}

typedef struct
{
  uint64_t size_bytes;
  long born, freed, died; /* -1: never */
} Life;

/* What view block has to say, event by event, from a table of who lives at an address. */
static char *
walk (const TesseraTrace *trace)
{
  g_autoptr (GHashTable) living = g_hash_table_new (g_int64_hash, g_int64_equal);
  g_autoptr (GPtrArray) lives = g_ptr_array_new_with_free_func (g_free);
  GString *text = g_string_new (NULL);

  for (size_t i = 0; i < trace->n_events; i++)
    {
      TesseraEvent *event = &trace->events[i];
      Life *life = g_hash_table_lookup (living, &event->addr);

      if (event->action == TESSERA_ALLOC)
        {
          life = g_new (Life, 1);
          *life = (Life){ event->size_bytes, (long) i, -1, -1 };
          g_ptr_array_add (lives, life);
          g_hash_table_replace (living, &event->addr, life);
        }
      else if (event->action == TESSERA_FREE_REQUESTED)
        life->freed = (long) i;
      else
        {
          life->died = (long) i;
          g_hash_table_remove (living, &event->addr);
        }
    }
  for (guint i = 0; i < lives->len; i++)
    {
      const Life *life = lives->pdata[i];

      g_string_append_printf (text, "%" G_GUINT64_FORMAT "|%ld|%ld|%ld\n",
                              life->size_bytes, life->born, life->freed, life->died);
    }
  return g_string_free (text, FALSE);
}

static void
test_blocks_against_walk (TestPlace *place, gconstpointer data)
{
  for (uint32_t round = 0; round < 3; round++)
    {
      g_autoptr (TesseraTrace) trace = test_trace_new_plausible (SEED + round, 20000);
      g_autofree char *wanted = walk (trace);
      g_autofree char *found = NULL;

      test_save (place, trace);
      found = test_ask (place->path,
                        "SELECT size_bytes, born_index, ifnull (freed_index, -1),"
                        " ifnull (died_index, -1) FROM block ORDER BY born_index");
      g_assert_true (strcmp (wanted, found) == 0);
    }
}

/* The odd ends: a block that waits at the start, one that waits at the end, one whose
 * address comes again without a free, and a size of zero. */
static void
test_blocks_odd (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = test_trace_of (
      "start block 512 9 0 pending; free_completed 512 9; alloc 512 0; alloc 512 10;"
      "free_requested 512 10; free_requested 1024 10");
  g_autofree char *found = NULL;

  test_save (place, trace);
  found = test_ask (place->path, "SELECT born_index, freed_index, died_index, size_bytes,"
                                 " block_bytes, at_start FROM block ORDER BY born_index");
  g_assert_cmpstr (found, ==,
                   "0|0|0|9|512|1\n"
                   "1|2|2|0|512|0\n"
                   "2|3|NULL|10|512|0\n");
}

/* A gap is never told as none, and a plan that was cut short says so. */
static void
test_proofs_are_reported (TestPlace *place, gconstpointer data)
{
  static const struct
  {
    TesseraPlan plan;
    const char *text;
    double gap;
  } cases[] = {
    { { .height_bytes = 900, .bound_bytes = 900 }, "optimal (proven)", 0 },
    { { .height_bytes = 900, .bound_bytes = 800, .proven_bound_bytes = 900 },
      "optimal (proven)",
      0 },
    { { .height_bytes = 900, .bound_bytes = 600, .proven_bound_bytes = 800 },
      "within 12.50 % of the proven bound",
      0.125 },
    { { .height_bytes = (UINT64_C (1) << 40) + 1, .bound_bytes = UINT64_C (1) << 40 },
      "within 0.01 % of the proven bound",
      0x1p-40 },
    { { .height_bytes = 9, .bound_bytes = 8, .cut_short = true },
      "within 12.50 % of the proven bound; cut short by hand",
      0.125 },
    { { .height_bytes = 8, .bound_bytes = 8, .cut_short = true },
      "optimal (proven); cut short by hand",
      0 },
    /* What edits force is a cost, what they leave out is told. */
    { { .height_bytes = 8, .bound_bytes = 8, .n_edits = 1 }, "optimal (proven)", 0 },
    { { .height_bytes = 3 << 20,
        .bound_bytes = 1 << 20,
        .proven_bound_bytes = 3 << 20,
        .n_edits = 1 },
      "optimal with its edits (proven), 2.00 MiB above the load bound",
      0 },
    { { .height_bytes = 9 << 20,
        .bound_bytes = 1 << 20,
        .proven_bound_bytes = 8 << 20,
        .n_edits = 2 },
      "within 12.50 % of the proven bound with its edits, 8.00 MiB above the load bound",
      0.125 },
    { { .height_bytes = 8, .bound_bytes = 8, .n_edits = 1, .n_unplanned = 3 },
      "optimal with its edits (proven), 3 requests left out",
      0 },
  };
  for (size_t i = 0; i < G_N_ELEMENTS (cases); i++)
    {
      char text[128];
      tessera_plan_describe_proof (&cases[i].plan, text, sizeof text);
      g_assert_cmpstr (text, ==, cases[i].text);
      g_assert_cmpfloat (tessera_plan_gap (&cases[i].plan), ==, cases[i].gap);
    }
}

/* One bound is shown: what is proven, but for what edits force. */
static void
test_shown_bound (TestPlace *place, gconstpointer data)
{
  TesseraPlan plan = { .height_bytes = 9, .bound_bytes = 5, .proven_bound_bytes = 8 };

  g_assert_cmpuint (tessera_plan_shown_bound (NULL, 5, 0), ==, 5);
  g_assert_cmpuint (tessera_plan_shown_bound (&plan, 5, 0), ==, 8);
  g_assert_cmpuint (tessera_plan_shown_bound (&plan, 5, 8), ==, 8);
  g_assert_cmpuint (tessera_plan_shown_bound (&plan, 5, 7), ==, 5);
  g_assert_cmpuint (tessera_plan_shown_bound (&plan, 10, 0), ==, 10);
  plan.n_edits = 1;
  g_assert_cmpuint (tessera_plan_shown_bound (&plan, 5, 0), ==, 5);
}

static void
test_tables_are_strict (TestPlace *place, gconstpointer data)
{
  g_autoptr (TesseraTrace) trace = known_trace ();
  g_autofree char *lax = NULL, *ids = NULL;

  test_save (place, trace);
  lax = test_ask (place->path, "SELECT name FROM pragma_table_list"
                               " WHERE schema = 'main' AND type = 'table' AND NOT strict"
                               " AND name NOT LIKE 'sqlite_%'");
  g_assert_cmpstr (lax, ==, "");
  ids = test_ask (place->path, "SELECT application_id, user_version FROM"
                               " pragma_application_id, pragma_user_version");
  g_assert_cmpstr (ids, ==, "1414746708|1\n");
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  TEST ("/format/proofs-are-told", test_proofs_are_reported);
  TEST ("/format/shown-bound", test_shown_bound);
  TEST ("/format/questions", test_questions);
  TEST ("/format/document-is-complete", test_document_is_complete);
  TEST ("/format/blocks-against-walk", test_blocks_against_walk);
  TEST ("/format/blocks-odd", test_blocks_odd);
  TEST ("/format/tables-are-strict", test_tables_are_strict);
  return g_test_run ();
}
