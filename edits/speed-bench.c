/*
 * How long edits take on many blocks: previews of each kind of edit, free and under
 * stalloc, after a full plan of 100,000 made-up blocks and of the largest shared trace, and
 * groups anew of a million blocks. Processor seconds, all threads together, and how often
 * that is what it takes to find blocks and structure of the same trace, which any view of
 * it begins with: the machine's load and speed drop out.
 *
 * TESSERA_SPEED_ROUNDS: of each the least of so many (default 2). TESSERA_SPEED_TRACE:
 * only traces whose name holds this. TESSERA_SPEED_EDIT: only edits whose name holds this.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/generate.h"
#include "planner/groups.h"
#include "planner/planner.h"
#include "recorder/import/import.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LARGEST "snapshots/jobs/hf_qwen3moe_eager.pickle.gz"

typedef struct
{
  const char *name;
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraPlan *plan;    /* without edits, free */
  TesseraPlan *stalloc; /* the same under stalloc */
  double structure_s;   /* what all else is compared with */
} Study;

static double
processor_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static int
n_rounds (void)
{
  const char *text = g_getenv ("TESSERA_SPEED_ROUNDS");

  return text != NULL ? MAX (atoi (text), 1) : 2;
}

/* @variable: of the environment; names part of what is wanted. */
static bool
is_named (const char *variable, const char *name)
{
  const char *only = g_getenv (variable);

  return only == NULL || strstr (name, only) != NULL;
}

static bool
is_wanted (const char *name)
{
  return is_named ("TESSERA_SPEED_TRACE", name);
}

/* --- traces ------------------------------------------------------------------------- */

typedef struct
{
  uint32_t at, item;
  bool is_birth;
} Moment;

/* Ends of a moment come before its births. */
static int
compare_moments (const void *a, const void *b)
{
  const Moment *x = a, *y = b;

  if (x->at != y->at)
    return x->at < y->at ? -1 : 1;
  if (x->is_birth != y->is_birth)
    return x->is_birth ? 1 : -1;
  return (x->item > y->item) - (x->item < y->item);
}

static void
add (TesseraTrace *trace, TesseraAction action, const TesseraItem *item, uint32_t index)
{
  const TesseraEvent event = { .addr = (uint64_t) (index + 1) << 9,
                               .size_bytes = item->size_bytes,
                               .at_ns = (int64_t) trace->n_events * 1000,
                               .stack = TESSERA_NONE,
                               .action = (uint8_t) action };

  if (tessera_trace_add_event (trace, &event) != TESSERA_OK)
    g_error ("not enough memory");
}

/* A program that asks for these items when they begin and frees them when they end. */
static TesseraTrace *
trace_of (TesseraGenerateKind kind, uint32_t n)
{
  g_autofree TesseraItem *items = g_new0 (TesseraItem, n);
  g_autofree Moment *moments = g_new (Moment, 2 * n);
  TesseraTrace *trace;

  if (tessera_generate (kind, 1, items, n) != TESSERA_OK ||
      tessera_trace_new (&trace) != TESSERA_OK)
    g_error ("not enough memory");
  trace->has_time = trace->starts_empty = true;
  for (uint32_t i = 0; i < n; i++)
    {
      moments[2 * i] = (Moment){ items[i].begin, i, true };
      moments[2 * i + 1] = (Moment){ items[i].end, i, false };
    }
  qsort (moments, 2 * n, sizeof *moments, compare_moments);
  for (uint32_t i = 0; i < 2 * n; i++)
    {
      const TesseraItem *item = &items[moments[i].item];

      if (moments[i].is_birth)
        {
          add (trace, TESSERA_ALLOC, item, moments[i].item);
          continue;
        }
      add (trace, TESSERA_FREE_REQUESTED, item, moments[i].item);
      add (trace, TESSERA_FREE_COMPLETED, item, moments[i].item);
    }
  return trace;
}

/* --- edits -------------------------------------------------------------------------- */

typedef struct
{
  const char *name;
  TesseraEditKind kind;
  uint32_t n_blocks; /* 0: no edit */
} Kind;

static const Kind kinds[] = {
  { "nothing", TESSERA_EDIT_PIN, 0 },       { "pin", TESSERA_EDIT_PIN, 1 },
  { "together", TESSERA_EDIT_TOGETHER, 8 }, { "apart", TESSERA_EDIT_APART, 8 },
  { "dynamic", TESSERA_EDIT_DYNAMIC, 1 },   { "group", TESSERA_EDIT_GROUP, 1000 },
  { "cap", TESSERA_EDIT_CAP, 1 },
};

/* Blocks that slots stand for, spread over the plan. */
static TesseraEdit
edit_of (const Study *study, const Kind *kind)
{
  TesseraEdit edit = { .kind = kind->kind, .name = strdup ("edit"), .at = 0 };
  size_t n_slots = study->plan->n_slots, n = 0;

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  edit.what.blocks = g_new (uint32_t, kind->n_blocks);
  for (size_t i = 0; i < kind->n_blocks; i++)
    {
      uint32_t block = study->plan->slots[(i + 1) * n_slots / (kind->n_blocks + 2)].block;

      if (n == 0 || edit.what.blocks[n - 1] < block)
        edit.what.blocks[n++] = block;
    }
  edit.what.n_blocks = n;
  edit.group = kind->kind == TESSERA_EDIT_GROUP ? strdup ("mine") : NULL;
  edit.at =
      kind->kind == TESSERA_EDIT_CAP ? study->plan->height_bytes / 512 * 9 / 10 * 512 : 0;
  return edit;
}

/* --- figures ------------------------------------------------------------------------ */

/* Returns the plan, NULL: refused. @edit: (nullable) */
static TesseraPlan *
plan (const Study *study, const TesseraEdit *edit, TesseraStrategy strategy, bool preview)
{
  const TesseraPlanOptions options = { .edits = edit,
                                       .n_edits = edit != NULL,
                                       .strategy = strategy,
                                       .is_preview = preview,
                                       .former = strategy == TESSERA_STRATEGY_STALLOC
                                                     ? study->stalloc
                                                     : study->plan,
                                       .first_step = -1,
                                       .last_step = -1 };
  TesseraError error = { 0 };
  TesseraPlan *made = NULL;
  TesseraStatus status = tessera_plan_trace (study->trace, study->blocks,
                                             study->structure, &options, &error, &made);

  if (status != TESSERA_OK && status != TESSERA_REFUSED)
    g_error ("%s", error.text);
  return made;
}

/* Bytes x lifetime of all slots. */
static double
weigh (const TesseraPlan *plan)
{
  double weight = 0;

  for (size_t i = 0; i < plan->n_slots; i++)
    weight += (double) plan->slots[i].block_bytes *
              (double) (plan->slots[i].died - plan->slots[i].born);
  return weight;
}

/* What a plan leaves out of all that has slots without edits. */
static char *
describe_lost (const Study *study, const TesseraPlan *made)
{
  if (made == NULL || study->plan == NULL || made->n_slots >= study->plan->n_slots)
    return g_strdup ("");
  return g_strdup_printf ("%zu, %.1f %%", study->plan->n_slots - made->n_slots,
                          100 * (1 - weigh (made) / weigh (study->plan)));
}

/* @made: (nullable) */
static void
print (const Study *study, const char *what, double seconds, const TesseraPlan *made)
{
  g_autofree char *height =
      made == NULL || made->bound_bytes == 0
          ? g_strdup ("")
          : g_strdup_printf ("%.4f",
                             (double) made->height_bytes / (double) made->bound_bytes);
  g_autofree char *lost = describe_lost (study, made);

  g_print ("| %s | %zu | %s | %.3f | %.1f | %s | %s |\n", study->name,
           study->blocks->n_blocks, what, seconds, seconds / study->structure_s, height,
           lost);
}

static void
measure_preview (const Study *study, const Kind *kind, TesseraStrategy strategy)
{
  TesseraEdit edit = edit_of (study, kind);
  g_autofree char *what = g_strdup_printf (
      "preview, %s: %s", strategy == TESSERA_STRATEGY_STALLOC ? "stalloc" : "free",
      kind->name);
  double least_s = G_MAXDOUBLE;
  TesseraPlan *made = NULL;

  for (int round = 0; round < n_rounds (); round++)
    {
      double begin_s = processor_s ();

      tessera_plan_free (made);
      made = plan (study, kind->n_blocks > 0 ? &edit : NULL, strategy, true);
      least_s = MIN (least_s, processor_s () - begin_s);
    }
  print (study, what, least_s, made);
  tessera_plan_free (made);
  tessera_edit_clear (&edit);
}

static void
measure_regroup (const Study *study)
{
  const Kind group = { "group", TESSERA_EDIT_GROUP, 1000 };
  TesseraEdit edit = edit_of (study, &group);
  double least_s = G_MAXDOUBLE;

  for (int round = 0; round < n_rounds (); round++)
    {
      double begin_s = processor_s ();
      TesseraError error = { 0 };
      TesseraBlock *blocks;
      TesseraGroup *groups;
      size_t n_groups;

      if (tessera_edits_regroup (study->trace, study->blocks, study->structure, &edit, 1,
                                 &error, NULL, &blocks, &groups, &n_groups) != TESSERA_OK)
        g_error ("%s", error.text);
      least_s = MIN (least_s, processor_s () - begin_s);
      free (blocks);
      tessera_groups_free (groups, n_groups);
    }
  print (study, "groups anew", least_s, NULL);
  tessera_edit_clear (&edit);
}

/* Takes the trace over. */
static void
measure (const char *name, TesseraTrace *trace, bool with_previews)
{
  Study study = { .name = name, .trace = trace };
  double begin_s = processor_s ();

  if (tessera_blocks_new (trace, &study.blocks) != TESSERA_OK ||
      tessera_structure_new (trace, study.blocks, &study.structure) != TESSERA_OK)
    g_error ("not enough memory");
  study.structure_s = processor_s () - begin_s;
  print (&study, "blocks and structure", study.structure_s, NULL);
  begin_s = processor_s ();
  study.plan = plan (&study, NULL, TESSERA_STRATEGY_FREE, false);
  print (&study, "full plan", processor_s () - begin_s, study.plan);
  begin_s = processor_s ();
  study.stalloc = plan (&study, NULL, TESSERA_STRATEGY_STALLOC, false);
  print (&study, "full plan, stalloc", processor_s () - begin_s, study.stalloc);
  measure_regroup (&study);
  for (size_t i = 0; with_previews && i < G_N_ELEMENTS (kinds); i++)
    {
      if (!is_named ("TESSERA_SPEED_EDIT", kinds[i].name))
        continue;
      measure_preview (&study, &kinds[i], TESSERA_STRATEGY_FREE);
      measure_preview (&study, &kinds[i], TESSERA_STRATEGY_STALLOC);
    }
  tessera_plan_free (study.stalloc);
  tessera_plan_free (study.plan);
  tessera_structure_free (study.structure);
  tessera_blocks_free (study.blocks);
  tessera_trace_free (trace);
}

static void
measure_generated (TesseraGenerateKind kind, uint32_t n_blocks, bool with_previews)
{
  if (is_wanted (tessera_generate_name (kind)) &&
      (with_previews || g_getenv ("TESSERA_SPEED_EDIT") == NULL))
    measure (tessera_generate_name (kind), trace_of (kind, n_blocks), with_previews);
}

static void
measure_largest (void)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  const char *folder = g_getenv ("TESSERA_SHARED_DATA");
  g_autofree char *path = g_build_filename (folder ? folder : "", LARGEST, NULL);
  TesseraError error = { 0 };
  TesseraTrace *trace;

  if (!is_wanted (LARGEST) || !g_file_test (path, G_FILE_TEST_EXISTS))
    return;
  if (tessera_open (path, &options, &error, &trace) != TESSERA_OK)
    g_error ("%s", error.text);
  measure ("hf_qwen3moe_eager", trace, true);
}

int
main (void)
{
  g_print (
      "| trace | blocks | what | processor s | x blocks and structure | height / bound "
      "| left out: requests, bytes x lifetime |\n|---|---|---|---|---|---|---|\n");
  measure_largest ();
  measure_generated (TESSERA_GENERATE_EXPERTS, 1000000, false);
  measure_generated (TESSERA_GENERATE_EXPERTS, 100000, true);
  measure_generated (TESSERA_GENERATE_PIPELINES, 100000, true);
  measure_generated (TESSERA_GENERATE_DRIFT, 100000, true);
  return 0;
}
