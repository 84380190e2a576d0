/*
 * Colours and legends: stable, told apart, and summing to what is live at the peak.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "picture/colour.h"
#include "picture/palette.h"
#include "planner/groups.h"
#include "planner/modules.h"
#include "recorder/import/import.h"
#include "tests/ok.h"
#include "tests/planner/auto.h"

#include <glib.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

G_DEFINE_AUTOPTR_CLEANUP_FUNC (TesseraColouring, tessera_colouring_free)

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraGroup *groups;
  size_t n_groups;
  TesseraWhose whose; /* with other categories */
} Stage;

static Stage
stage_new (void)
{
  g_autofree char *path = g_build_filename (g_getenv ("TESSERA_SOURCE_ROOT"), "samples",
                                            "finetune-oom.pickle.gz", NULL);
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  Stage stage = { 0 };
  OK (tessera_open (path, &options, NULL, &stage.trace));
  stage.blocks = tessera_blocks_new (stage.trace);
  stage.structure = tessera_structure_new (stage.trace, stage.blocks);
  tessera_group_blocks (stage.trace, stage.blocks, stage.structure, &stage.groups,
                        &stage.n_groups);
  stage.whose = (TesseraWhose){ .trace = stage.trace,
                                .blocks = stage.blocks,
                                .structure = stage.structure };
  OK (tessera_whose_find (&stage.whose, NULL, "", NULL));
  for (size_t i = 0; i < stage.blocks->n_blocks; i++)
    stage.whose.categories[i] = (uint8_t) (i % TESSERA_N_CATEGORIES);
  return stage;
}

static void
stage_clear (Stage *stage)
{
  tessera_whose_clear (&stage->whose);
  tessera_groups_free (stage->groups, stage->n_groups);
  tessera_structure_free (stage->structure);
  tessera_blocks_free (stage->blocks);
  tessera_trace_free (stage->trace);
}

G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (Stage, stage_clear)

static TesseraColouring *
colouring_of (const Stage *stage, TesseraColourKey key, bool dark)
{
  TesseraColouring *colouring = tessera_colouring_new (
      &stage->whose, stage->blocks, stage->groups, stage->n_groups, key, dark);
  g_assert_cmpint (colouring->key, ==, key);
  return colouring;
}

static const TesseraLegendEntry *
find_entry (const TesseraColouring *colouring, const char *name)
{
  for (size_t i = 0; i < colouring->n_entries; i++)
    if (strcmp (colouring->entries[i].name, name) == 0)
      return &colouring->entries[i];
  g_error ("no entry \"%s\"", name);
}

/* Most live after any event, block by block: slow and plain. */
static uint64_t
peak_live (const TesseraBlocks *blocks)
{
  uint64_t most = 0;
  for (uint32_t event = 0; event < blocks->n_events; event++)
    {
      uint64_t live = 0;
      for (size_t i = 0; i < blocks->n_blocks; i++)
        {
          const TesseraBlock *b = &blocks->blocks[i];
          if ((b->flags & TESSERA_FAILED) == 0 && b->born_index <= event &&
              event < b->freed_index)
            live += b->size_bytes;
        }
      most = MAX (most, live);
    }
  return most;
}

static void
test_sums (void)
{
  g_auto (Stage) stage = stage_new ();
  uint64_t peak = peak_live (stage.blocks);
  for (int key = 0; key < TESSERA_N_COLOUR_KEYS; key++)
    for (int dark = 0; dark <= 1; dark++)
      {
        g_autoptr (TesseraColouring) colouring =
            colouring_of (&stage, (TesseraColourKey) key, dark);
        uint64_t bytes = 0, n_blocks = 0;
        g_assert_cmpuint (colouring->n_entries, >, 0);
        g_assert_cmpuint (colouring->n_entries, <=, 24);
        for (size_t i = 0; i < colouring->n_entries; i++)
          {
            bytes += colouring->entries[i].live_bytes;
            n_blocks += colouring->entries[i].n_blocks;
            for (size_t k = 0; k < i; k++)
              {
                g_assert_cmphex (colouring->entries[i].rgb, !=,
                                 colouring->entries[k].rgb);
                g_assert_cmpstr (colouring->entries[i].name, !=,
                                 colouring->entries[k].name);
              }
          }
        g_assert_cmpuint (bytes, ==, peak);
        g_assert_cmpuint (n_blocks, ==, stage.blocks->n_blocks);
        for (size_t i = 0; i < stage.blocks->n_blocks; i++)
          g_assert_cmphex (colouring->block_rgb[i], ==,
                           colouring->entries[colouring->block_entry[i]].rgb);
      }
}

static void
test_names (void)
{
  g_auto (Stage) stage = stage_new ();
  TesseraColouring *colouring = colouring_of (&stage, TESSERA_COLOUR_MODULE, false);
  g_assert_cmpuint (find_entry (colouring, "finetune.py build_model")->live_bytes, >, 0);
  g_assert_cmpuint (find_entry (colouring, "(no module)")->n_blocks, >, 1);
  tessera_colouring_free (colouring);

  colouring = colouring_of (&stage, TESSERA_COLOUR_PHASE, false);
  g_assert_cmpuint (find_entry (colouring, TESSERA_OUTSIDE_OF_PHASES)->n_blocks, >=, 150);
  g_assert_cmphex (find_entry (colouring, "forward")->rgb, ==,
                   tessera_colour_of_name ("forward", false));
  tessera_colouring_free (colouring);

  colouring = colouring_of (&stage, TESSERA_COLOUR_SIZE, false);
  g_assert_cmpuint (find_entry (colouring, "to 8 GiB")->n_blocks, >=, 3);
  tessera_colouring_free (colouring);

  colouring = colouring_of (&stage, TESSERA_COLOUR_STREAM, true);
  g_assert_cmpuint (colouring->n_entries, ==, 1);
  g_assert_cmpstr (colouring->entries[0].name, ==, "stream 0 (default)");
  tessera_colouring_free (colouring);

  colouring = colouring_of (&stage, TESSERA_COLOUR_AGE, true);
  g_assert_cmpstr (colouring->entries[colouring->n_entries - 1].name, ==, "to the end");
  tessera_colouring_free (colouring);
  g_assert_cmpstr (tessera_colour_key_name (TESSERA_COLOUR_AGE), ==, "age");
  g_assert_cmpstr (tessera_colour_key_name ((TesseraColourKey) 99), ==, "");
}

/* The legend has the categories' own names, order and colours, whatever they hold. */
static void
test_categories (void)
{
  g_auto (Stage) stage = stage_new ();
  TesseraColouring *colouring = colouring_of (&stage, TESSERA_COLOUR_CATEGORY, true);
  g_assert_cmpuint (colouring->n_entries, ==, TESSERA_N_CATEGORIES);
  for (int i = 0; i < TESSERA_N_CATEGORIES; i++)
    {
      g_assert_cmpstr (colouring->entries[i].name, ==,
                       tessera_category_name ((TesseraCategory) i));
      g_assert_cmphex (colouring->entries[i].rgb, ==,
                       tessera_colour_of_category ((TesseraCategory) i, true));
    }
  g_assert_cmpuint (colouring->block_entry[TESSERA_LOSS], ==, TESSERA_LOSS);
  tessera_colouring_free (colouring);
  /* Of which nothing is known. */
  memset (stage.whose.categories, TESSERA_UNKNOWN, stage.blocks->n_blocks);
  colouring = colouring_of (&stage, TESSERA_COLOUR_CATEGORY, false);
  g_assert_cmpuint (colouring->n_entries, ==, 1);
  g_assert_cmpstr (colouring->entries[0].name, ==, "unknown: no rule holds");
  tessera_colouring_free (colouring);
  g_assert_cmpint (tessera_usual_colour_key (stage.trace), ==, TESSERA_COLOUR_CATEGORY);
  g_autoptr (TesseraTrace) bare = NULL;
  OK (tessera_trace_new (&bare));
  g_assert_cmpint (tessera_usual_colour_key (bare), ==, TESSERA_COLOUR_CLASS);
}

/* The size that every bucket ends with is inside, one byte more is in the next. */
static void
test_size_buckets (void)
{
  g_auto (Stage) stage = stage_new ();
  stage.blocks->blocks[0].size_bytes = UINT64_C (1) << 20;
  stage.blocks->blocks[1].size_bytes = (UINT64_C (1) << 20) + 1;
  stage.blocks->blocks[2].size_bytes = UINT64_C (1) << 40;
  stage.blocks->blocks[3].size_bytes = 1;
  g_autoptr (TesseraColouring) colouring =
      colouring_of (&stage, TESSERA_COLOUR_SIZE, false);
  static const char *const names[] = { "to 1 MiB", "to 2 MiB", "over 16 GiB",
                                       "to 4 KiB" };
  for (size_t i = 0; i < 4; i++)
    g_assert_cmpstr (colouring->entries[colouring->block_entry[i]].name, ==, names[i]);
  g_assert_cmpstr (colouring->entries[0].name, ==, "to 4 KiB");
}

/* A hundred modules: 23 have names and colours of their own, the rest is one entry, and
 * what holds most is never in it. */
static void
test_other (void)
{
  g_autoptr (TesseraTrace) trace = NULL;
  OK (tessera_trace_new (&trace));
  trace->starts_empty = true;
  for (uint64_t i = 0; i < 100; i++)
    {
      TesseraFrame frame = { .line = 1 };
      uint32_t frame_id, stack;
      g_autofree char *name = g_strdup_printf ("layer_%d", (int) i);
      g_assert_cmpint (tessera_trace_intern (trace, name, strlen (name), &frame.name), ==,
                       0);
      g_assert_cmpint (tessera_trace_intern (trace, "net.py", 6, &frame.file), ==, 0);
      g_assert_cmpint (tessera_trace_add_frame (trace, &frame, &frame_id), ==, 0);
      g_assert_cmpint (tessera_trace_add_stack (trace, &frame_id, 1, &stack), ==, 0);
      TesseraEvent event = { .addr = (i + 1) << 30,
                             .size_bytes = 512 * (i + 1),
                             .stack = stack,
                             .action = TESSERA_ALLOC };
      g_assert_cmpint (tessera_trace_add_event (trace, &event), ==, 0);
    }
  g_autoptr (TesseraBlocks) blocks = tessera_blocks_new (trace);
  g_autofree uint32_t *stacks = g_new (uint32_t, blocks->n_blocks);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    stacks[i] = blocks->blocks[i].stack;
  const TesseraWhose whose = { .trace = trace,
                               .blocks = blocks,
                               .origins.stacks = stacks };
  g_autoptr (TesseraColouring) colouring = NULL, again = NULL;
  colouring =
      tessera_colouring_new (&whose, blocks, NULL, 0, TESSERA_COLOUR_MODULE, false);
  g_assert_cmpuint (colouring->n_entries, ==, 24);
  g_assert_cmpstr (colouring->entries[0].name, ==, "net.py layer_99");
  g_assert_cmpstr (colouring->entries[23].name, ==, "other (77)");
  g_assert_cmpuint (colouring->entries[23].n_blocks, ==, 77);
  g_assert_cmpuint (colouring->entries[23].live_bytes, ==, 512 * 77 * 78 / 2);
  g_assert_cmpuint (colouring->block_entry[0], ==, 23);
  again = tessera_colouring_new (&whose, blocks, NULL, 0, TESSERA_COLOUR_MODULE, false);
  g_assert_cmpmem (again->block_rgb, 100 * 4, colouring->block_rgb, 100 * 4);
}

/* Whose line is told as a block's source. */
static void
test_own_frames (void)
{
  static const struct
  {
    const char *file;
    bool is_own;
  } files[] = { { "/home/a/train.py", true },
                { "train.py", true },
                { "/tmp/ipykernel_12/34.py", true },
                { "<ipython-input-3-5f1a>", true },
                { "<string>", false },
                { "<frozen importlib._bootstrap>.py", false },
                { "", false },
                { "??", false },
                { "thread48.o", false },
                { "memory_snapshot.cpp", false },
                { "/opt/torch/nn/modules/module.py", false },
                { "/v/lib/python3.13/threading.py", false },
                { "/v/site-packages/transformers/trainer.py", false },
                { "/usr/lib/python3/dist-packages/numpy/core.py", false } };
  g_autoptr (TesseraTrace) trace = NULL;

  OK (tessera_trace_new (&trace));
  for (size_t i = 0; i < G_N_ELEMENTS (files); i++)
    {
      TesseraFrame frame = { .line = 1 };
      uint32_t id;

      OK (tessera_trace_intern (trace, files[i].file, strlen (files[i].file),
                                &frame.file));
      OK (tessera_trace_add_frame (trace, &frame, &id));
      g_assert_cmpint (tessera_frame_is_own (trace, id), ==, files[i].is_own);
    }
}

static int
difference (uint32_t a, uint32_t b)
{
  int sum = 0;
  for (int shift = 0; shift <= 16; shift += 8)
    sum += ABS ((int) (a >> shift & 255) - (int) (b >> shift & 255));
  return sum;
}

/* On white and on near-black every colour can be seen, and told from the others. */
static void
test_contrast (void)
{
  for (uint32_t slot = 0; slot < 2 * TESSERA_N_PALETTE; slot++)
    for (int dark = 0; dark <= 1; dark++)
      {
        uint32_t rgb = tessera_palette_rgb (slot, dark);
        double light = tessera_palette_light (rgb);
        g_assert_true (dark ? light > 0.35 : light < 0.82);
        for (uint32_t other = 0; other < slot; other++)
          g_assert_cmpint (difference (tessera_palette_rgb (other, dark), rgb), >=,
                           slot < TESSERA_N_PALETTE ? 36 : 1);
      }
}

/* A colour as it is seen: CIE L*a*b* of what is left of it by @eye, one of Machado, Oliveira and
 * Fernandes' (2009) matrices for linear RGB. */
static void
see (uint32_t rgb, const double eye[3][3], double out_lab[3])
{
  static const double xyz[3][3] = { { 0.4339, 0.3762, 0.1899 }, /* by the white point */
                                    { 0.2126, 0.7152, 0.0722 },
                                    { 0.0177, 0.1095, 0.8728 } };
  double linear[3], seen[3], f[3];
  for (int i = 0; i < 3; i++)
    {
      double c = (rgb >> (16 - 8 * i) & 255) / 255.0;
      linear[i] = c <= 0.04045 ? c / 12.92 : pow ((c + 0.055) / 1.055, 2.4);
    }
  for (int i = 0; i < 3; i++)
    seen[i] = CLAMP (
        eye[i][0] * linear[0] + eye[i][1] * linear[1] + eye[i][2] * linear[2], 0.0, 1.0);
  for (int i = 0; i < 3; i++)
    {
      double t = xyz[i][0] * seen[0] + xyz[i][1] * seen[1] + xyz[i][2] * seen[2];
      f[i] = t > 0.008856 ? cbrt (t) : 7.787 * t + 16.0 / 116.0;
    }
  out_lab[0] = 116.0 * f[1] - 16.0;
  out_lab[1] = 500.0 * (f[0] - f[1]);
  out_lab[2] = 200.0 * (f[1] - f[2]);
}

/* Neighbours in the legend of categories, and all of the kinds that fill most memory, are told
 * apart by everybody: about 2 is the least difference that is seen side by side. */
static void
test_categories_apart (void)
{
  static const double eyes[][3][3] = {
    { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
    { { 0.367322, 0.860646, -0.227968 }, /* no green */
      { 0.280085, 0.672501, 0.047413 },
      { -0.011820, 0.042940, 0.968881 } },
    { { 0.152286, 1.052583, -0.204868 }, /* no red */
      { 0.114503, 0.786281, 0.099216 },
      { -0.003882, -0.048116, 1.051998 } },
  };
  for (size_t eye = 0; eye < G_N_ELEMENTS (eyes); eye++)
    for (int dark = 0; dark <= 1; dark++)
      for (int a = 0; a < TESSERA_N_CATEGORIES; a++)
        for (int b = 0; b < a; b++)
          {
            double x[3], y[3];
            see (tessera_colour_of_category ((TesseraCategory) a, dark), eyes[eye], x);
            see (tessera_colour_of_category ((TesseraCategory) b, dark), eyes[eye], y);
            double apart = hypot (hypot (x[0] - y[0], x[1] - y[1]), x[2] - y[2]);
            if (a <= TESSERA_TEMPORARY_BACKWARD)
              g_assert_cmpfloat (apart, >, 20.0);
            g_assert_cmpfloat (apart, >, b == a - 1 ? 12.0 : 0.5);
          }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/colour/sums", test_sums);
  g_test_add_func ("/colour/names", test_names);
  g_test_add_func ("/colour/categories", test_categories);
  g_test_add_func ("/colour/categories-apart", test_categories_apart);
  g_test_add_func ("/colour/size-buckets", test_size_buckets);
  g_test_add_func ("/colour/other", test_other);
  g_test_add_func ("/colour/own-frames", test_own_frames);
  g_test_add_func ("/colour/contrast", test_contrast);
  return g_test_run ();
}
