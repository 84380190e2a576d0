/*
 * Edits for tests: see test-edits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/test-edits.h"

#include <string.h>

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
  g_assert_cmpint (a->blocks != NULL, ==, b->blocks != NULL);
  g_assert_cmpuint (a->n_blocks, ==, b->n_blocks);
  for (gsize i = 0; i < a->n_blocks; i++)
    g_assert_cmpuint (a->blocks[i], ==, b->blocks[i]);
  g_assert_cmpuint (a->least_bytes, ==, b->least_bytes);
  g_assert_cmpuint (a->most_bytes, ==, b->most_bytes);
  g_assert_cmpuint (a->least_life, ==, b->least_life);
  g_assert_cmpuint (a->most_life, ==, b->most_life);
  g_assert_cmpstr (a->phase, ==, b->phase);
  g_assert_cmpstr (a->died_phase, ==, b->died_phase);
  g_assert_cmpstr (a->module, ==, b->module);
  g_assert_cmpstr (a->source, ==, b->source);
  g_assert_cmpstr (a->group, ==, b->group);
  g_assert_cmpint (a->step, ==, b->step);
  g_assert_cmpint (a->stream, ==, b->stream);
  g_assert_cmpuint (a->ordinal, ==, b->ordinal);
  g_assert_cmpuint (a->alive_at, ==, b->alive_at);
  g_assert_cmpuint (a->lifetime_class, ==, b->lifetime_class);
}

void
test_edits_assert_equal (const TesseraEdit *a, const TesseraEdit *b)
{
  g_assert_cmpint (a->kind, ==, b->kind);
  g_assert_cmpstr (a->name, ==, b->name);
  test_selectors_assert_equal (&a->what, &b->what);
  g_assert_cmpint (a->has_with, ==, b->has_with);
  test_selectors_assert_equal (&a->with, &b->with);
  g_assert_cmpstr (a->group, ==, b->group);
  g_assert_cmpint (a->shape != NULL, ==, b->shape != NULL);
  for (gsize i = 0; a->shape != NULL && i < a->what.n_blocks; i++)
    g_assert_cmpuint (a->shape[i], ==, b->shape[i]);
  g_assert_cmpint (a->by, ==, b->by);
  g_assert_cmpuint (a->at, ==, b->at);
  g_assert_cmpuint (a->lifetime_class, ==, b->lifetime_class);
  g_assert_cmpint (a->created_s, ==, b->created_s);
  g_assert_cmpint (a->is_undone, ==, b->is_undone);
}
