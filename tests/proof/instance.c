/*
 * See instance.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/proof/instance.h"

#include <stdlib.h>

#include "edits/test-edits.h"
#include "planner/fold/test-experts.h"

guint
instance_pick (GRand *random, guint n)
{
  return (guint) g_rand_int_range (random, 0, (gint32) n);
}

static TesseraTrace *
run_program (Instance *instance, guint n_units)
{
  MadeUnit units[MADE_MAX_UNITS];
  guint counts[MADE_MAX_KINDS] = { 0 };

  made_units (instance->random, &instance->program, n_units, units, counts);
  for (guint k = 0; k < instance->program.n_kinds && !instance->was_run; k++)
    instance->is_frequent = (k == 0 || instance->is_frequent) && counts[k] >= 2;
  instance->was_run = TRUE;
  return made_run (instance->random, &instance->program, units, n_units + 2);
}

static void
draw_options_of_program (Instance *instance)
{
  GRand *random = instance->random;
  MadeOptions *made = &instance->made;

  *made = (MadeOptions){ .is_tiny = instance->kind == INSTANCE_TINY_STEPS,
                         .varies = instance->kind == INSTANCE_VARIES ||
                                   instance->kind == INSTANCE_VARIES_AND_KEEPS,
                         .keeps = instance->kind >= INSTANCE_N_KINDS,
                         .n_kinds = instance->kind == INSTANCE_PROGRAM ? 0 : 1,
                         .scale = instance_pick (random, 3) ? 0 : 2048 };
  if (made->is_tiny)
    return;
  made->n_streams = instance_pick (random, 3) ? 1 : 2 + instance_pick (random, 2);
  made->has_late = made->n_streams > 1 && instance_pick (random, 2) == 0;
  made->has_phases = instance_pick (random, 2) == 0;
  made->has_batch = instance_pick (random, 2) == 0;
  made->has_noise = instance_pick (random, 4) == 0;
  made->leaves_out = instance_pick (random, 3) == 0;
  made->has_part = instance->kind == INSTANCE_PROGRAM && instance_pick (random, 5) == 0;
  if ((instance->kind == INSTANCE_VARIES && instance_pick (random, 3) == 0) ||
      (instance->kind == INSTANCE_KEEPS && instance_pick (random, 2)))
    made->n_kinds = 0;
}

static TesseraTrace *
draw_trace (Instance *instance)
{
  GRand *random = instance->random;

  switch (instance->kind)
    {
    case INSTANCE_TINY:
      return test_trace_random (instance->seed, 1 + instance_pick (random, 8), 1);
    case INSTANCE_HISTORY:
      return test_trace_random (instance->seed, 9 + instance_pick (random, 200),
                                (guint16) (1 + instance_pick (random, 3)));
    case INSTANCE_EXPERTS:
      return test_experts_new (instance->seed, (int) instance_pick (random, 2),
                               3 + instance_pick (random, 4),
                               instance_pick (random, 2) ? 1 : 40);
    default:
      draw_options_of_program (instance);
      instance->is_program = TRUE;
      instance->program = made_program (random, &instance->made);
      return run_program (instance, instance->kind == INSTANCE_TINY_STEPS
                                        ? 2 + instance_pick (random, 4)
                                        : 8 + instance_pick (random, 12));
    }
}

static void
draw_plan_options (Instance *instance)
{
  GRand *random = instance->random;
  TesseraPlanOptions *options = &instance->options;

  *options = (TesseraPlanOptions){ .first_step = -1,
                                   .last_step = -1,
                                   .work_budget = 512,
                                   .out_conflict = &instance->conflict };
  if (instance_pick (random, 6) == 0)
    options->strategy = TESSERA_STRATEGY_STALLOC;
  options->is_preview = instance_pick (random, 10) == 0;
}

void
instance_init (Instance *instance, guint32 seed, InstanceKind kind)
{
  *instance = (Instance){ .seed = seed, .kind = kind };
  instance->random = g_rand_new_with_seed (seed);
  instance->of = case_new (draw_trace (instance));
  draw_plan_options (instance);
}

static int
compare_blocks (const void *a, const void *b)
{
  const guint32 *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static void
list_some (Instance *instance, guint most, TesseraSelector *selector)
{
  guint n = 1 + instance_pick (instance->random, most);
  guint32 *blocks = malloc (n * sizeof *blocks);
  size_t n_kept = 0;

  for (guint i = 0; i < n; i++)
    blocks[i] = instance_pick (instance->random, (guint) instance->of.blocks->n_blocks);
  qsort (blocks, n, sizeof *blocks, compare_blocks);
  for (guint i = 0; i < n; i++)
    if (i == 0 || blocks[i] != blocks[n_kept - 1])
      blocks[n_kept++] = blocks[i];
  selector->blocks = blocks;
  selector->n_blocks = n_kept;
}

static TesseraEdit
draw_small_edit (Instance *instance, guint64 bound_bytes)
{
  static const TesseraEditKind kinds[] = { TESSERA_EDIT_PIN,      TESSERA_EDIT_PIN,
                                           TESSERA_EDIT_TOGETHER, TESSERA_EDIT_APART,
                                           TESSERA_EDIT_DYNAMIC,  TESSERA_EDIT_CAP,
                                           TESSERA_EDIT_GROUP,    TESSERA_EDIT_CLASS };
  GRand *random = instance->random;
  TesseraEdit edit = { .kind = kinds[instance_pick (random, G_N_ELEMENTS (kinds))],
                       .lifetime_class = TESSERA_CLASS_PERSISTENT };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  edit.name = g_strdup_printf ("small edit %u", instance_pick (random, 1000));
  if (edit.kind == TESSERA_EDIT_GROUP)
    edit.group = g_strdup ("mine");
  edit.at = bound_bytes / 512 * instance_pick (random, 100) / 100 * 512;
  if (edit.kind == TESSERA_EDIT_CAP)
    edit.at = bound_bytes / 2 + edit.at;
  else
    list_some (instance, edit.kind == TESSERA_EDIT_PIN ? 1 : 8, &edit.what);
  edit.has_with = edit.kind == TESSERA_EDIT_APART && instance_pick (random, 2);
  if (edit.has_with)
    list_some (instance, 8, &edit.with);
  return edit;
}

static TesseraEdit
draw_pin (Instance *instance, guint64 bound_bytes)
{
  TesseraEdit edit = { .kind = TESSERA_EDIT_PIN };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  edit.name = g_strdup_printf ("pin %u", instance->n_edits);
  edit.at = bound_bytes / 512 * instance_pick (instance->random, 20) / 100 * 512;
  list_some (instance, 1, &edit.what);
  return edit;
}

void
instance_draw_edits (Instance *instance, InstanceEdits edits)
{
  const TesseraBlocks *blocks = instance->of.blocks;
  guint64 bound = tessera_blocks_bound (blocks, 0, blocks->n_events, NULL);
  guint n = edits == INSTANCE_NO_EDITS
                ? 0
                : 1 + instance_pick (instance->random,
                                     edits == INSTANCE_PINS ? 2 : INSTANCE_MOST_EDITS);

  for (; instance->n_edits < n; instance->n_edits++)
    instance->edits[instance->n_edits] =
        edits == INSTANCE_PINS          ? draw_pin (instance, bound)
        : edits == INSTANCE_SMALL_EDITS ? draw_small_edit (instance, bound)
                                        : test_edit_random (instance->random, blocks);
  instance->options.edits = instance->edits;
  instance->options.n_edits = instance->n_edits;
}

TesseraLayout *
instance_follow (const Case *run, const TesseraPlan *plan, bool by_length)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_PLAN,
                                           .plan = plan,
                                           .by_length = by_length };
  TesseraLayout *layout = case_simulate (run, &options);

  case_assert_no_overlap (run->blocks, layout);
  g_assert_cmpuint (layout->n_ooms, ==, 0);
  return layout;
}

void
instance_clear (Instance *instance)
{
  for (guint i = 0; i < instance->n_edits; i++)
    tessera_edit_clear (&instance->edits[i]);
  case_clear (&instance->of);
  g_rand_free (instance->random);
}

Case
instance_other_run (Instance *instance, guint n_units)
{
  return case_new (run_program (instance, n_units));
}

gboolean
instance_is_certain (const Instance *instance)
{
  const MadeOptions *made = &instance->made;

  return instance->is_program && instance->is_frequent && !made->varies &&
         !made->has_noise && !made->leaves_out && !made->has_part;
}

double
instance_of_expandable (const Case *run, uint64_t reserved_bytes)
{
  const TesseraSimulateOptions options = { .kind = TESSERA_LAYOUT_EXPANDABLE };
  g_autoptr (TesseraLayout) online = case_simulate (run, &options);
  double ratio = (double) reserved_bytes / (double) online->peak_reserved_bytes;

  return ratio;
}

gboolean
instance_is_advised (const Instance *instance, const TesseraLayout *own)
{
  return instance_of_expandable (&instance->of, own->peak_reserved_bytes) <= 1.02;
}

guint32
instance_first_seed (void)
{
  const char *text = g_getenv ("TESSERA_PROOF_SEED");

  return text != NULL ? (guint32) g_ascii_strtoull (text, NULL, 10) : 0;
}

guint
instance_number (guint n_short)
{
  const char *text = g_getenv ("TESSERA_PROOF_INSTANCES");

  if (text != NULL)
    return (guint) g_ascii_strtoull (text, NULL, 10);
  return g_getenv ("TESSERA_TEST_LONG") != NULL ? 10000 : n_short;
}
