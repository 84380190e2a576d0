/*
 * Previews against full plans, over edits that are drawn: of each kind and each shared
 * trace some, from fixed seeds. Prints a table of each trace, and of all the
 * distribution: median, 95th of a hundred, worst. Seconds are of the processor, all
 * threads together.
 *
 * TESSERA_PREVIEW_DRAWS: edits of a kind for a trace (default 2). TESSERA_PREVIEW_FILE:
 * only traces whose name holds this. TESSERA_PREVIEW_OTHER: another trace instead of
 * these. TESSERA_PREVIEW_SEED: other edits.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"
#include "recorder/import/import.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A preview may be so much above the full plan. */
#define MOST_ABOVE 1.001

static const char *const files[] = {
  "sample/finetune-oom.pickle",
  "sample/pretrain-gpt.pickle",
  "snapshots/real/large-ctx256-fullstep.pickle",
  "snapshots/jobs/moe64_perm_moeck.pickle.gz",
  "snapshots/jobs/llama1b_var_length_batch.pickle.gz",
  "snapshots/jobs/hf_qwen3moe_eager.pickle.gz",
  "snapshots/jobs/fsdp2_7b_r3of16.pickle.gz",
  "snapshots/jobs/meg_pp4vp2_tp2_rcfull.pickle.gz",
  "snapshots/pytorch-2.6/c_def_1.pickle",
  "snapshots/pytorch-2.6/f_streams.pickle",
  "snapshots/pytorch-2.6/t_def.pickle",
};

typedef enum
{
  NOTHING,
  PIN,      /* of a block anywhere */
  PIN_STOP, /* where another block lies, as it does when dragged */
  PINS,     /* four blocks, anywhere */
  MOVE,     /* several, keeping their distances */
  TOGETHER,
  APART,
  DYNAMIC,
  CAP,
  PAPER, /* a group made by hand, under the strategy paper */
  N_KINDS
} Kind;

static const char *const kinds[] = { "nothing",     "pin, anywhere", "pin, at a stop",
                                     "four pins",   "several moved", "together",
                                     "apart",       "dynamic",       "cap",
                                     "paper, group" };

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraPlan *plan; /* without edits */
} Study;

typedef struct
{
  double preview_s, full_s, ratio, above, per_10000_s;
} Sample;

static double
processor_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

/* NULL: the edits can't hold together. */
static TesseraPlan *
plan (const Study *study,
      const GArray *edits,
      TesseraStrategy strategy,
      bool is_preview,
      double *out_s)
{
  const TesseraPlanOptions options = { .edits = (const TesseraEdit *) edits->data,
                                       .n_edits = edits->len,
                                       .strategy = strategy,
                                       .is_preview = is_preview,
                                       .former = study->plan,
                                       .former_is_full = true,
                                       .first_step = -1,
                                       .last_step = -1 };
  TesseraError error = { 0 };
  TesseraPlan *made = NULL;
  double begin_s = processor_s ();
  TesseraStatus status = tessera_plan_trace (study->trace, study->blocks,
                                             study->structure, &options, &error, &made);

  *out_s = processor_s () - begin_s;
  if (status != TESSERA_OK && status != TESSERA_REFUSED)
    g_error ("%s", error.text);
  return made;
}

static int
compare_blocks (const void *a, const void *b)
{
  const uint32_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static TesseraSelector
select_blocks (uint32_t *blocks, size_t n)
{
  TesseraSelector selector;
  size_t n_kept = 0;

  qsort (blocks, n, sizeof *blocks, compare_blocks);
  for (size_t i = 0; i < n; i++)
    if (n_kept == 0 || blocks[n_kept - 1] != blocks[i])
      blocks[n_kept++] = blocks[i];
  tessera_selector_init (&selector);
  selector.blocks = malloc (n * sizeof *blocks);
  memcpy (selector.blocks, blocks, n_kept * sizeof *blocks);
  selector.n_blocks = n_kept;
  return selector;
}

static TesseraEdit *
add_edit (GArray *edits, TesseraEditKind kind, uint32_t *blocks, size_t n)
{
  TesseraEdit edit = { .kind = kind, .name = strdup ("drawn"), .with = { .step = -1 } };

  edit.what = select_blocks (blocks, n);
  tessera_selector_init (&edit.with);
  g_array_append_val (edits, edit);
  return &g_array_index (edits, TesseraEdit, edits->len - 1);
}

/* Every other one is among the larger: the best of eight. */
static const TesseraSlot *
draw_slot (const Study *study, GRand *random)
{
  const TesseraSlot *best = NULL;
  int n_tries = g_rand_boolean (random) ? 8 : 1;

  for (int i = 0; i < n_tries; i++)
    {
      const TesseraSlot *slot =
          &study->plan
               ->slots[g_rand_int_range (random, 0, (gint32) study->plan->n_slots)];
      if (best == NULL || slot->block_bytes > best->block_bytes)
        best = slot;
    }
  return best;
}

static uint64_t
draw_offset (const Study *study, GRand *random, uint64_t top_bytes)
{
  uint64_t steps = top_bytes / study->plan->alignment_bytes;

  return (uint64_t) (g_rand_double (random) * (double) (steps + 1)) *
         study->plan->alignment_bytes;
}

static void
draw_pin (const Study *study, GRand *random, GArray *edits, bool at_stop)
{
  const TesseraSlot *slot = draw_slot (study, random), *other;
  uint64_t top_bytes = study->plan->height_bytes - slot->block_bytes;
  uint32_t block = slot->block;
  uint64_t at = draw_offset (study, random, top_bytes);

  for (int i = 0; at_stop && i < 100; i++)
    {
      other = draw_slot (study, random);
      at = other->offset_bytes + (g_rand_boolean (random) ? other->block_bytes : 0);
      if (at <= top_bytes)
        break;
    }
  add_edit (edits, TESSERA_EDIT_PIN, &block, 1)->at = MIN (at, top_bytes);
}

/* Some that lie near each other in the list, moved as one. */
static void
draw_move (const Study *study, GRand *random, GArray *edits)
{
  uint32_t blocks[12], n = 3 + (uint32_t) g_rand_int_range (random, 0, 9);
  uint32_t n_slots = (uint32_t) study->plan->n_slots;
  uint32_t first = (uint32_t) g_rand_int_range (random, 0, (gint32) (n_slots - n));
  g_autofree uint64_t *at = g_new0 (uint64_t, study->blocks->n_blocks);
  uint64_t low = UINT64_MAX, high = 0;
  TesseraEdit *edit;

  for (uint32_t i = 0; i < n; i++)
    {
      const TesseraSlot *slot = &study->plan->slots[first + i];
      blocks[i] = slot->block;
      at[slot->block] = slot->offset_bytes;
      low = MIN (low, slot->offset_bytes);
      high = MAX (high, slot->offset_bytes + slot->block_bytes);
    }
  edit = add_edit (edits, TESSERA_EDIT_PIN, blocks, n);
  edit->at = draw_offset (study, random, study->plan->height_bytes - (high - low));
  edit->shape = malloc (edit->what.n_blocks * sizeof *edit->shape);
  for (size_t i = 0; i < edit->what.n_blocks; i++)
    edit->shape[i] = at[edit->what.blocks[i]] - low;
}

static TesseraEdit *
draw_set (
    const Study *study, GRand *random, GArray *edits, TesseraEditKind kind, uint32_t n)
{
  uint32_t blocks[64];

  for (uint32_t i = 0; i < n; i++)
    blocks[i] = draw_slot (study, random)->block;
  return add_edit (edits, kind, blocks, n);
}

static void
draw_edits (const Study *study, GRand *random, Kind kind, GArray *edits)
{
  uint32_t blocks[4];
  TesseraEdit *edit;

  switch (kind)
    {
    case PIN:
    case PIN_STOP:
      draw_pin (study, random, edits, kind == PIN_STOP);
      return;
    case PINS:
      for (int i = 0; i < 4; i++)
        draw_pin (study, random, edits, i % 2);
      return;
    case MOVE:
      draw_move (study, random, edits);
      return;
    case TOGETHER:
      draw_set (study, random, edits, TESSERA_EDIT_TOGETHER, 8);
      return;
    case APART:
      edit = draw_set (study, random, edits, TESSERA_EDIT_APART, 4);
      for (int i = 0; i < 4; i++)
        blocks[i] = draw_slot (study, random)->block;
      edit->with = select_blocks (blocks, 4);
      edit->has_with = true;
      return;
    case DYNAMIC:
      draw_set (study, random, edits, TESSERA_EDIT_DYNAMIC, 1);
      return;
    case CAP:
      blocks[0] = 0;
      edit = add_edit (edits, TESSERA_EDIT_CAP, blocks, 1);
      edit->at = (uint64_t) ((double) study->plan->height_bytes *
                             g_rand_double_range (random, 0.8, 0.99));
      return;
    case PAPER:
      draw_set (study, random, edits, TESSERA_EDIT_GROUP, 16)->group = strdup ("drawn");
      return;
    case NOTHING:
    case N_KINDS:
      return;
    }
}

static void
clear_edits (GArray *edits)
{
  for (guint i = 0; i < edits->len; i++)
    tessera_edit_clear (&g_array_index (edits, TesseraEdit, i));
  g_array_set_size (edits, 0);
}

/* Draws until the edits can hold. */
static bool
sample_kind (const Study *study, GRand *random, Kind kind, Sample *sample)
{
  TesseraStrategy strategy =
      kind == PAPER ? TESSERA_STRATEGY_PAPER : TESSERA_STRATEGY_FREE;
  GArray *edits = g_array_new (FALSE, TRUE, sizeof (TesseraEdit));
  TesseraPlan *preview = NULL, *full = NULL;

  for (int i = 0; i < 50 && preview == NULL; i++)
    {
      clear_edits (edits);
      draw_edits (study, random, kind, edits);
      preview = plan (study, edits, strategy, true, &sample->preview_s);
    }
  if (preview != NULL)
    full = plan (study, edits, strategy, false, &sample->full_s);
  if (full != NULL)
    {
      sample->ratio = (double) preview->height_bytes / (double) full->height_bytes;
      sample->above = (double) full->height_bytes / (double) study->plan->height_bytes;
      sample->per_10000_s =
          sample->preview_s * 10000 / (double) MAX (study->blocks->n_blocks, 1);
    }
  clear_edits (edits);
  g_array_free (edits, TRUE);
  tessera_plan_free (preview);
  if (full == NULL)
    return false;
  tessera_plan_free (full);
  return true;
}

static void
look_at (const char *folder, const char *file, guint n_draws, GArray **samples)
{
  const char *seed = g_getenv ("TESSERA_PREVIEW_SEED");
  guint32 first_seed = seed ? (guint32) atoi (seed) * N_KINDS : 0;
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  g_autofree char *path = g_build_filename (folder, file, NULL);
  g_autofree char *name = g_path_get_basename (file);
  g_autoptr (GArray) none = g_array_new (FALSE, TRUE, sizeof (TesseraEdit));
  TesseraError error = { 0 };
  Study study = { .plan = NULL };
  double seconds;

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return;
  if (tessera_open (path, &options, &error, &study.trace) != TESSERA_OK)
    g_error ("%s", error.text);
  if (tessera_blocks_new (study.trace, &study.blocks) != TESSERA_OK ||
      tessera_structure_new (study.trace, study.blocks, &study.structure) != TESSERA_OK)
    g_error ("not enough memory");
  study.plan = plan (&study, none, TESSERA_STRATEGY_FREE, false, &seconds);
  for (int kind = 0; kind < N_KINDS; kind++)
    {
      g_autoptr (GRand) random = g_rand_new_with_seed (first_seed + (guint32) kind + 1);
      for (guint i = 0; i < (kind == NOTHING ? 1 : n_draws); i++)
        {
          Sample sample;
          if (!sample_kind (&study, random, kind, &sample))
            continue;
          g_array_append_val (samples[kind], sample);
          g_print ("| %s | %s | %zu | %.3f | %.3f | %.5f | %.5f |\n", name, kinds[kind],
                   study.blocks->n_blocks, sample.preview_s, sample.full_s, sample.ratio,
                   sample.above);
        }
    }
  tessera_plan_free (study.plan);
  tessera_structure_free (study.structure);
  tessera_blocks_free (study.blocks);
  tessera_trace_free (study.trace);
}

static int
compare_numbers (const void *a, const void *b)
{
  const double *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* Median, 95th of a hundred, worst of one field of the samples. */
static void
print_spread (const GArray *samples, gsize field, const char *format)
{
  g_autofree double *values = g_new (double, samples->len + 1);

  for (guint i = 0; i < samples->len; i++)
    values[i] =
        *(const double *) ((const char *) &g_array_index (samples, Sample, i) + field);
  qsort (values, samples->len, sizeof *values, compare_numbers);
  for (int part = 50; part <= 105; part += part == 50 ? 45 : 5)
    {
      g_print (" | ");
      g_print (format, values[MIN (samples->len - 1, samples->len * (guint) part / 100)]);
      if (part == 100)
        break;
    }
}

int
main (void)
{
  const char *folder = g_getenv ("TESSERA_SHARED_DATA");
  const char *draws = g_getenv ("TESSERA_PREVIEW_DRAWS");
  const char *only = g_getenv ("TESSERA_PREVIEW_FILE");
  const char *other = g_getenv ("TESSERA_PREVIEW_OTHER");
  guint n_samples = 0, n_above = 0;
  GArray *samples[N_KINDS];

  for (int kind = 0; kind < N_KINDS; kind++)
    samples[kind] = g_array_new (FALSE, TRUE, sizeof (Sample));
  g_print (
      "| trace | edit | blocks | preview, s | full plan, s | preview / full | full / "
      "without |\n|---|---|---|---|---|---|---|\n");
  if (other != NULL)
    look_at (folder ? folder : "", other, draws ? (guint) atoi (draws) : 2, samples);
  for (size_t i = 0; other == NULL && i < G_N_ELEMENTS (files); i++)
    if (only == NULL || strstr (files[i], only) != NULL)
      look_at (folder ? folder : "", files[i], draws ? (guint) atoi (draws) : 2, samples);
  g_print (
      "\n| edit | number | preview / full: median, 95 %%, worst | | | preview, s for "
      "10,000 blocks: median, 95 %%, worst | | | full / without: median, 95 %%, "
      "worst | | | full plan, s: median, 95 %%, worst | | |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (int kind = 0; kind < N_KINDS; kind++)
    {
      if (samples[kind]->len > 0)
        {
          g_print ("| %s | %u", kinds[kind], samples[kind]->len);
          print_spread (samples[kind], offsetof (Sample, ratio), "%.5f");
          print_spread (samples[kind], offsetof (Sample, per_10000_s), "%.3f");
          print_spread (samples[kind], offsetof (Sample, above), "%.5f");
          print_spread (samples[kind], offsetof (Sample, full_s), "%.2f");
          g_print (" |\n");
        }
      n_samples += samples[kind]->len;
      for (guint i = 0; i < samples[kind]->len; i++)
        n_above += g_array_index (samples[kind], Sample, i).ratio > MOST_ABOVE;
      g_array_free (samples[kind], TRUE);
    }
  g_print ("\n%u of %u previews are more than 0.1 %% above the full plan\n", n_above,
           n_samples);
  return 0;
}
