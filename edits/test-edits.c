/*
 * Edits for tests: see test-edits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"

#include "tests/db/test-random.h"

static void
fill (TesseraSelector *selector)
{
  static const guint32 blocks[] = { 1, 5, 4000000000 };

  selector->blocks = g_memdup2 (blocks, sizeof blocks);
  selector->n_blocks = G_N_ELEMENTS (blocks);
  selector->least_bytes = 512;
  selector->most_bytes = G_MAXINT64;
  selector->least_life = 3;
  selector->most_life = 70000;
  selector->phase = g_strdup ("forward \"a\\b\"");
  selector->died_phase = g_strdup ("backward");
  selector->module = g_strdup ("*mlp*");
  selector->source = g_strdup ("train.py:12");
  selector->group = g_strdup ("forward -> backward, step 1 \xe2\x86\x92");
  selector->step = 7;
  selector->stream = 1;
  selector->ordinal = 0;
  selector->alive_at = 12345;
  selector->lifetime_class = TESSERA_CLASS_TRANSIENT;
}

TesseraEdit
test_edit_of_kind (TesseraEditKind kind)
{
  static const guint64 shape[] = { 0, 512, 1 << 20 };
  TesseraEdit edit = { .kind = kind, .created_s = 1700000000 + kind };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  edit.name = g_strdup_printf ("edit of kind %d", kind);
  if (kind != TESSERA_EDIT_CAP)
    fill (&edit.what);
  if (kind == TESSERA_EDIT_MERGE || kind == TESSERA_EDIT_GROUP ||
      kind == TESSERA_EDIT_MOVE)
    edit.group = g_strdup ("mine");
  if (kind == TESSERA_EDIT_SPLIT)
    edit.by = TESSERA_SPLIT_AT;
  if (kind == TESSERA_EDIT_SPLIT || kind == TESSERA_EDIT_PIN || kind == TESSERA_EDIT_CAP)
    edit.at = 1024;
  if (kind == TESSERA_EDIT_PIN)
    edit.shape = g_memdup2 (shape, sizeof shape);
  if (kind == TESSERA_EDIT_APART)
    {
      edit.has_with = true;
      edit.with.phase = g_strdup ("optimizer");
    }
  if (kind == TESSERA_EDIT_CLASS)
    edit.lifetime_class = TESSERA_CLASS_PERSISTENT;
  return edit;
}

static void
random_condition (GRand *random, const TesseraBlocks *blocks, TesseraSelector *selector)
{
  const TesseraBlock *block =
      &blocks->blocks[g_rand_int_range (random, 0, (gint32) blocks->n_blocks)];

  switch (g_rand_int_range (random, 0, 6))
    {
    case 0:
      selector->least_bytes = selector->most_bytes = block->size_bytes;
      break;
    case 1:
      selector->least_bytes = block->size_bytes;
      break;
    case 2:
      selector->lifetime_class = block->lifetime_class;
      break;
    case 3:
      selector->alive_at = block->born_index;
      break;
    case 4:
      selector->phase = g_strdup ("forw*");
      break;
    default:
      selector->ordinal = (guint32) g_rand_int_range (random, 0, 4);
    }
}

static void
random_selector (GRand *random, const TesseraBlocks *blocks, TesseraSelector *selector)
{
  tessera_selector_clear (selector);
  random_condition (random, blocks, selector);
  if (g_rand_boolean (random))
    {
      TesseraSelector more;

      tessera_selector_init (&more);
      random_condition (random, blocks, &more);
      if (more.least_bytes)
        {
          selector->least_bytes = more.least_bytes;
          selector->most_bytes = more.most_bytes;
        }
      if (more.lifetime_class)
        selector->lifetime_class = more.lifetime_class;
      tessera_selector_clear (&more);
    }
}

TesseraEdit
test_edit_random (GRand *random, const TesseraBlocks *blocks)
{
  TesseraEdit edit = { .kind = (TesseraEditKind) g_rand_int_range (
                           random, TESSERA_EDIT_MERGE, TESSERA_EDIT_CAP + 1) };

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  edit.name = g_strdup_printf ("random edit %u", g_rand_int (random) % 1000);
  edit.by = (TesseraSplitBy) g_rand_int_range (random, TESSERA_SPLIT_PHASE,
                                               TESSERA_SPLIT_AT + 1);
  edit.lifetime_class = (guint8) g_rand_int_range (random, TESSERA_CLASS_PERSISTENT,
                                                   TESSERA_CLASS_DYNAMIC + 1);
  edit.at = (guint64) g_rand_int_range (random, 0, 200) * 512;
  if (edit.kind != TESSERA_EDIT_CAP)
    random_selector (random, blocks, &edit.what);
  if (edit.kind == TESSERA_EDIT_APART && g_rand_boolean (random))
    {
      edit.has_with = true;
      random_selector (random, blocks, &edit.with);
    }
  if (edit.kind == TESSERA_EDIT_MERGE || edit.kind == TESSERA_EDIT_GROUP ||
      edit.kind == TESSERA_EDIT_MOVE)
    edit.group = g_strdup (g_rand_boolean (random) ? "mine" : "yours");
  return edit;
}

void
test_selectors_assert_equal (const TesseraSelector *a, const TesseraSelector *b)
{
  g_assert_true (!a->blocks == !b->blocks);
  SAME (n_blocks), SAME (least_bytes), SAME (most_bytes), SAME (least_life),
      SAME (most_life), SAME (step), SAME (stream), SAME (ordinal), SAME (alive_at),
      SAME (lifetime_class);
  SAME_ALL (blocks, a->n_blocks);
  SAME_TEXT (phase);
  SAME_TEXT (died_phase);
  SAME_TEXT (module);
  SAME_TEXT (source);
  SAME_TEXT (group);
}

void
test_edits_assert_equal (const TesseraEdit *a, const TesseraEdit *b)
{
  test_selectors_assert_equal (&a->what, &b->what);
  test_selectors_assert_equal (&a->with, &b->with);
  SAME (kind), SAME (has_with), SAME (by), SAME (at), SAME (lifetime_class),
      SAME (created_s), SAME (is_undone);
  SAME_TEXT (name);
  SAME_TEXT (group);
  g_assert_true (!a->shape == !b->shape);
  if (a->shape != NULL)
    SAME_ALL (shape, a->what.n_blocks);
}
