/*
 * Whole plans of random traces, from fixed seeds: what the planner makes of histories and
 * steps of all sorts passes the checker, overlaps nowhere pair by pair, is never below
 * what is alive, never above first fit by size, and of at most 8 blocks as low as any;
 * followed on its own trace it serves every request, and on another run of the same
 * program nothing ever overlaps. 10,000 with TESSERA_TEST_LONG, or what
 * TESSERA_PROOF_INSTANCES says; TESSERA_PROOF_SEED begins at another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "planner/check.h"
#include "planner/groups.h"
#include "tests/planner/judge.h"
#include "tests/proof/instance.h"
#include "tests/ok.h"

enum
{
  N_SHORT = 400,
  N_SHORT_OF_KINDS = 100,
  N_SHORT_THAT_KEEP = 100
};

/* Of a run that differs from the planned one in the order of its kinds of step only. Most
 * reserve less than expandable segments; above are programs of four and five kinds on
 * several streams: blocks that live from one step into the next are held in kinds where
 * no end of them was seen, and streams are kept apart. */
#define MOST_OF_EXPANDABLE 1.3
/* ... where the plan is no worse than they are for the planned run: of the others, at most so
 * many, nobody is advised to follow one (simulator/advice.c). */
#define MOST_OF_ADVISED 1.1
#define ONE_WORSE_OF 10

/* ---- a plan as items, by what db/plan.h says of slots ---- */

typedef struct
{
  TesseraItem *items;
  uint64_t *offsets;
  uint32_t n_items;
} Items;

static const TesseraSection *
repeating (const TesseraPlan *plan, guint *out_n)
{
  const TesseraSection *found = NULL;

  *out_n = 0;
  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind == TESSERA_SECTION_REPEATS)
      {
        found = &plan->sections[i];
        ++*out_n;
      }
  return found;
}

/* Pools are apart; where several streams are at work these and their size classes are,
 * or may be. */
static uint32_t
zone_of (const TesseraPlan *plan, const TesseraSlot *slot)
{
  if (plan->n_streams == 1)
    return slot->pool;
  return (slot->pool * plan->n_streams + slot->stream) * 2 +
         (slot->block_bytes <= 1 << 20);
}

static TesseraItem
item_of (const TesseraPlan *plan, const TesseraSlot *slot)
{
  const TesseraSection *section = &plan->sections[slot->section];
  TesseraItem item = { .size_bytes = slot->block_bytes,
                       .begin = slot->born,
                       .end = slot->died,
                       .zone = zone_of (plan, slot) };

  if (slot->wraps && slot->died_next >= slot->born)
    item.begin = section->begin;
  else if (slot->wraps)
    {
      item.begin2 = section->begin;
      item.end2 = slot->died_next;
    }
  return item;
}

/* The slot that wraps in the place of a block of the start which ends where the repeating
 * step begins: the one place of both; n_slots: there is none. */
static size_t
partner_of (const TesseraPlan *plan, const TesseraSection *section, size_t slot)
{
  const TesseraSlot *start = &plan->slots[slot];
  size_t i;

  if (section == NULL || start->born >= section->begin || start->died != section->begin)
    return plan->n_slots;
  for (i = section->first_slot; i < section->first_slot + section->n_slots; i++)
    {
      const TesseraSlot *other = &plan->slots[i];

      if (other->wraps && other->offset_bytes == start->offset_bytes &&
          other->block_bytes == start->block_bytes && other->stream == start->stream &&
          other->pool == start->pool)
        return i;
    }
  return plan->n_slots;
}

/* Of one kind of step at most. Who shares a place by agreement is one item. */
static Items
items_of (const TesseraPlan *plan)
{
  Items of = { .items = g_new0 (TesseraItem, plan->n_slots + 1),
               .offsets = g_new0 (uint64_t, plan->n_slots + 1) };
  g_autofree uint32_t *also_from = g_new (uint32_t, plan->n_slots + 1);
  guint n_kinds;
  const TesseraSection *section = repeating (plan, &n_kinds);

  g_assert_cmpuint (n_kinds, <=, 1);
  memset (also_from, 0xff, (plan->n_slots + 1) * sizeof *also_from);
  for (size_t i = 0; i < plan->n_slots; i++) /* those of the start come first */
    {
      size_t partner = partner_of (plan, section, i);
      TesseraItem item = item_of (plan, &plan->slots[i]);

      if (partner < plan->n_slots)
        {
          also_from[partner] = plan->slots[i].born;
          continue;
        }
      if (also_from[i] != TESSERA_NONE)
        *(item.begin2 < item.end2 ? &item.begin2 : &item.begin) = also_from[i];
      of.items[of.n_items] = item;
      of.offsets[of.n_items++] = plan->slots[i].offset_bytes;
    }
  return of;
}

static void
items_clear (Items *of)
{
  g_free (of->items);
  g_free (of->offsets);
}

/* ---- what edits ask for: of slots, by the blocks that they were made from. Knows nothing of
 * how edits become holds on slots. ---- */

/* The blocks as they are when it is the edit's turn. */
static guint8 *
select_blocks (const Instance *instance, const TesseraSelector *what, guint n_before)
{
  TesseraBlocks blocks = *instance->of.blocks;
  TesseraGroup *groups;
  size_t n_groups;
  guint8 *selected = g_new0 (guint8, blocks.n_blocks + 1);

  OK (tessera_edits_regroup (instance->of.trace, instance->of.blocks,
                             instance->of.structure, instance->edits, n_before, NULL,
                             NULL, &blocks.blocks, &groups, &n_groups));
  tessera_select (what, instance->of.trace, &blocks, instance->of.structure, groups,
                  n_groups, selected);
  free (blocks.blocks);
  tessera_groups_free (groups, n_groups);
  return selected;
}

static gboolean
is_spare (const TesseraPlan *plan, const TesseraSlot *slot)
{
  return slot->wraps && slot->ordinal == TESSERA_NONE &&
         plan->sections[slot->section].kind == TESSERA_SECTION_REPEATS;
}

/* Of several kinds of step, or of the start: one block's rest is the other. */
static gboolean
are_one_place (const TesseraSlot *a, const TesseraSlot *b)
{
  return a->section != b->section && (a->wraps || b->wraps) &&
         a->offset_bytes == b->offset_bytes && a->block_bytes == b->block_bytes &&
         a->stream == b->stream && a->pool == b->pool;
}

static void
judge_apart (const TesseraPlan *plan,
             const guint8 *selected,
             const guint8 *with,
             const char *name)
{
  for (size_t i = 0; i < plan->n_slots; i++)
    for (size_t k = 0; k < plan->n_slots; k++)
      {
        const TesseraSlot *a = &plan->slots[i], *b = &plan->slots[k];

        if (i == k || is_spare (plan, a) || is_spare (plan, b) || !selected[a->block] ||
            !with[b->block] || (selected == with && are_one_place (a, b)))
          continue;
        if (a->offset_bytes < b->offset_bytes + b->block_bytes &&
            b->offset_bytes < a->offset_bytes + a->block_bytes)
          g_error ("%s: slots %zu and %zu are not apart", name, i, k);
      }
}

static void
judge_edits (const Instance *instance, const TesseraPlan *plan)
{
  for (guint e = 0; e < instance->n_edits; e++)
    {
      const TesseraEdit *edit = &instance->edits[e];
      g_autofree guint8 *selected = select_blocks (instance, &edit->what, e);
      g_autofree guint8 *with =
          edit->has_with ? select_blocks (instance, &edit->with, e) : NULL;

      if (edit->kind == TESSERA_EDIT_CAP)
        g_assert_cmpuint (plan->height_bytes, <=, edit->at);
      for (size_t i = 0; i < plan->n_slots; i++)
        {
          const TesseraSlot *slot = &plan->slots[i];

          if (is_spare (plan, slot) || !selected[slot->block])
            continue;
          if (edit->kind == TESSERA_EDIT_PIN)
            g_assert_cmpuint (slot->offset_bytes, ==, edit->at);
          g_assert_cmpint (edit->kind, !=, TESSERA_EDIT_DYNAMIC);
        }
      if (edit->kind == TESSERA_EDIT_APART)
        judge_apart (plan, selected, with != NULL ? with : selected, edit->name);
    }
}

/* ---- what is promised of every plan ---- */

/* Other runs: what they reserve of what expandable segments do. */
typedef struct
{
  guint n, n_worse; /* of them: the planned run already is */
  double sum, worst;
} Compared;

typedef struct
{
  guint n_plans, n_refused, n_kinds, n_folded, n_lowest, n_first_fit, n_optimal;
  guint n_keep;       /* have requests without a place that no edit left out */
  guint n_kinds_held; /* of several kinds of step, with places that edits hold */
  guint64 n_own, n_own_misses, n_other, n_other_misses;
  guint64 n_own_planned, n_other_planned; /* of the misses */
  Compared others;                        /* whose plan is for all kinds of step */
  Compared strangers;                     /* ... or for some at most */
} Totals;

static gboolean
has_holds (const Instance *instance)
{
  for (guint i = 0; i < instance->n_edits; i++)
    if (instance->edits[i].kind == TESSERA_EDIT_PIN ||
        instance->edits[i].kind == TESSERA_EDIT_TOGETHER ||
        instance->edits[i].kind == TESSERA_EDIT_APART)
      return TRUE;
  return FALSE;
}

static gboolean
leaves_out (const Instance *instance)
{
  for (guint i = 0; i < instance->n_edits; i++)
    if (instance->edits[i].kind == TESSERA_EDIT_DYNAMIC ||
        instance->edits[i].kind == TESSERA_EDIT_CAP)
      return TRUE;
  return FALSE;
}

/* Never above what the simplest rule does, and of a few as low as can be. */
static void
judge_lowness (const TesseraPlan *plan, Totals *totals)
{
  Items of = items_of (plan);

  g_assert_cmpuint (plan->height_bytes, <=,
                    judge_first_fit_by_size (of.items, of.n_items));
  totals->n_first_fit++;
  if (of.n_items > 0 && of.n_items <= JUDGE_MOST_TO_TRY)
    {
      g_assert_cmpuint (plan->height_bytes, ==, judge_lowest (of.items, of.n_items));
      totals->n_lowest++;
    }
  items_clear (&of);
}

static void
judge_height (const Instance *instance, const TesseraPlan *plan, Totals *totals)
{
  Items of = items_of (plan);

  judge_assert_keeps (of.items, of.n_items, of.offsets);
  g_assert_cmpuint (plan->height_bytes, ==, judge_top (of.items, of.n_items, of.offsets));
  g_assert_cmpuint (plan->height_bytes, >=, judge_load_bound (of.items, of.n_items));
  totals->n_optimal += plan->height_bytes == plan->proven_bound_bytes;
  if (instance->options.strategy == TESSERA_STRATEGY_FREE && !has_holds (instance) &&
      !instance->options.is_preview)
    judge_lowness (plan, totals);
  items_clear (&of);
}

static void
judge_bounds (const Instance *instance, const TesseraPlan *plan)
{
  TesseraLaw law;

  g_assert_true (plan->checked);
  WORKS (error, tessera_check_plan (plan, instance->of.trace, &law, &error));
  g_assert_cmpuint (plan->bound_bytes, <=, plan->height_bytes);
  if (plan->proven_bound_bytes > 0)
    {
      g_assert_cmpuint (plan->proven_bound_bytes, >=, plan->bound_bytes);
      g_assert_cmpuint (plan->proven_bound_bytes, <=, plan->height_bytes);
    }
}

static void
judge_own_run (const Instance *instance, const TesseraPlan *plan, Totals *totals)
{
  guint n_kinds;
  g_autoptr (TesseraLayout) layout = instance_follow (&instance->of, plan, false);

  (void) repeating (plan, &n_kinds);
  totals->n_own += layout->n_hits;
  totals->n_own_misses += layout->n_misses;
  /* All of it has slots; where steps fold, one that differs is known a little later. */
  if (plan->n_rooms == 0 && !leaves_out (instance) &&
      (n_kinds == 0 || instance->kind == INSTANCE_TINY_STEPS ||
       (n_kinds == 1 && instance->kind == INSTANCE_ONE_KIND &&
        instance_is_certain (instance))))
    g_assert_cmpuint (layout->n_misses, ==, 0);
  /* What steps keep is all that misses. */
  if (instance->kind == INSTANCE_KEEPS && plan->n_rooms == 0 && n_kinds == 1 &&
      instance->program.n_kinds == 1 && instance_is_certain (instance))
    g_assert_cmpuint (layout->n_misses, ==, layout->n_planned_misses);
  totals->n_own_planned += layout->n_planned_misses;
  /* What is alive at one moment has places in the plan, apart from each other. */
  if (layout->n_misses == 0 && plan->n_rooms == 0)
    g_assert_cmpuint (plan->height_bytes, >=,
                      tessera_blocks_bound (instance->of.blocks, 0,
                                            instance->of.blocks->n_events, NULL));
}

/* What a run reserves that differs by the order of its kinds of step only. */
static void
compare_reserved (const Instance *instance,
                  const TesseraPlan *plan,
                  const Case *run,
                  uint64_t reserved,
                  Totals *totals)
{
  guint n_kinds;
  gboolean is_for_it =
      repeating (plan, &n_kinds) != NULL && n_kinds >= instance->program.n_kinds;
  Compared *compared = is_for_it ? &totals->others : &totals->strangers;
  g_autoptr (TesseraLayout) own = instance_follow (&instance->of, plan, false);
  double ratio = instance_of_expandable (run, reserved);

  compared->n_worse += !instance_is_advised (instance, own);
  if (ratio >
      (instance_is_advised (instance, own) ? MOST_OF_ADVISED : MOST_OF_EXPANDABLE))
    g_error ("seed %u reserves %.3f of what expandable segments do", instance->seed,
             ratio);
  compared->n++;
  compared->sum += ratio;
  compared->worst = MAX (compared->worst, ratio);
}

static void
judge_other_run (Instance *instance, const TesseraPlan *plan, Totals *totals)
{
  if (!instance->is_program || instance->made.varies)
    return;
  g_auto (Case) other = instance_other_run (instance, 20);
  g_autoptr (TesseraLayout) layout = instance_follow (&other, plan, false);
  totals->n_other += layout->n_hits;
  totals->n_other_misses += layout->n_misses;
  totals->n_other_planned += layout->n_planned_misses;
  if (instance_is_certain (instance) && instance->made.scale > 1 &&
      instance->n_edits == 0 && instance->options.strategy == TESSERA_STRATEGY_FREE)
    compare_reserved (instance, plan, &other, layout->peak_reserved_bytes, totals);
}

/* Small edits are of programs of several kinds of step. */
static InstanceKind
kind_of (guint32 seed, InstanceEdits edits, gboolean keeps)
{
  if (keeps)
    return INSTANCE_KEEPS;
  return edits == INSTANCE_SMALL_EDITS ? INSTANCE_PROGRAM
                                       : (InstanceKind) (seed % INSTANCE_N_KINDS);
}

static void
prove (guint32 seed, InstanceKind kind, InstanceEdits edits, Totals *totals)
{
  Instance instance;
  g_autoptr (TesseraPlan) plan = NULL;
  TesseraError error = { 0 };
  guint n_kinds;

  instance_init (&instance, seed, kind);
  instance_draw_edits (&instance, edits);
  TesseraStatus status =
      tessera_plan_trace (instance.of.trace, instance.of.blocks, instance.of.structure,
                          &instance.options, &error, &plan);
  if (status == TESSERA_REFUSED && edits != INSTANCE_NO_EDITS)
    {
      g_assert_cmpuint (instance.conflict.first, <, instance.n_edits);
      g_assert_cmpuint (instance.conflict.second, <, instance.n_edits);
      totals->n_refused++;
    }
  else if (status != TESSERA_OK)
    g_error ("seed %u: %s", seed, error.text);
  else
    {
      (void) repeating (plan, &n_kinds);
      totals->n_plans++;
      totals->n_kinds += n_kinds > 1;
      totals->n_kinds_held += n_kinds > 1 && has_holds (&instance);
      totals->n_folded += n_kinds == 1;
      totals->n_keep += plan->n_unplanned > 0 && edits == INSTANCE_NO_EDITS;
      judge_bounds (&instance, plan);
      judge_edits (&instance, plan);
      if (n_kinds <= 1)
        judge_height (&instance, plan, totals);
      judge_own_run (&instance, plan, totals);
      judge_other_run (&instance, plan, totals);
    }
  instance_clear (&instance);
}

static void
tell (const Totals *totals)
{
  g_test_message (
      "%u plans, %u refused; %u of several kinds of step (%u held), %u of one; "
      "%u optimal, %u compared with first fit, %u with all layouts",
      totals->n_plans, totals->n_refused, totals->n_kinds, totals->n_kinds_held,
      totals->n_folded, totals->n_optimal, totals->n_first_fit, totals->n_lowest);
  g_test_message ("own runs: %" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT
                  " misses; other runs %" G_GUINT64_FORMAT " and %" G_GUINT64_FORMAT,
                  totals->n_own, totals->n_own_misses, totals->n_other,
                  totals->n_other_misses);
  if (totals->n_keep > 0)
    g_test_message (
        "%u plans have requests without a place; of the misses %" G_GUINT64_FORMAT
        " and %" G_GUINT64_FORMAT " are these",
        totals->n_keep, totals->n_own_planned, totals->n_other_planned);
}

static void
tell_compared (const Compared *compared, const char *which)
{
  if (compared->n > 0)
    g_test_message (
        "%u other runs%s reserve %.3f of what expandable segments do, %.3f at most; %u "
        "have plans that nobody is advised to follow",
        compared->n, which, compared->sum / compared->n, compared->worst,
        compared->n_worse);
}

static void
prove_all (InstanceEdits edits, gboolean keeps, guint n)
{
  guint32 first = instance_first_seed ();
  Totals totals = { 0 };

  for (guint32 seed = first; seed < first + n; seed++)
    prove (seed, kind_of (seed, edits, keeps), edits, &totals);
  tell (&totals);
  if (edits == INSTANCE_SMALL_EDITS) /* what is on both sides, or pinned above a cap */
    g_assert_cmpuint (totals.n_refused * 10, <, n);
  tell_compared (&totals.others, "");
  tell_compared (&totals.strangers, ", with plans for some kinds of step at most,");
  g_assert_cmpuint ((totals.others.n_worse + totals.strangers.n_worse) * ONE_WORSE_OF, <=,
                    totals.others.n + totals.strangers.n + ONE_WORSE_OF);
  if (totals.others.n > 0)
    g_assert_cmpfloat (totals.others.sum + totals.strangers.sum, <,
                       totals.others.n + totals.strangers.n);
  if (keeps && edits == INSTANCE_NO_EDITS)
    g_assert_cmpuint (2 * totals.n_keep, >, n);
}

static void
test_plans (gconstpointer data)
{
  InstanceEdits edits = (InstanceEdits) GPOINTER_TO_INT (data);

  prove_all (
      edits, FALSE,
      instance_number (edits == INSTANCE_SMALL_EDITS ? N_SHORT_OF_KINDS : N_SHORT));
}

static void
test_plans_that_keep (gconstpointer data)
{
  prove_all ((InstanceEdits) GPOINTER_TO_INT (data), TRUE,
             instance_number (N_SHORT_THAT_KEEP));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_data_func ("/proof/plans", GINT_TO_POINTER (INSTANCE_NO_EDITS), test_plans);
  g_test_add_data_func ("/proof/plans-with-edits", GINT_TO_POINTER (INSTANCE_EDITS),
                        test_plans);
  g_test_add_data_func ("/proof/kinds-with-edits", GINT_TO_POINTER (INSTANCE_SMALL_EDITS),
                        test_plans);
  g_test_add_data_func ("/proof/plans-that-keep", GINT_TO_POINTER (INSTANCE_NO_EDITS),
                        test_plans_that_keep);
  g_test_add_data_func ("/proof/plans-that-keep-with-edits",
                        GINT_TO_POINTER (INSTANCE_EDITS), test_plans_that_keep);
  return g_test_run ();
}
