/*
 * Previews against full plans, over edits that are drawn: of each kind and each shared
 * trace some, from fixed seeds. Prints a table of each trace, and of all the
 * distribution: median, 95th of a hundred, worst. Seconds are of the processor, all
 * threads together.
 *
 * Whether a preview that misses its aims (MOST_ABOVE, MOST_S) could have met them is said
 * by the full plan: when it first knew a layout within MOST_ABOVE of its own end, and
 * when one as low as the preview. A full plan that is not there by MOST_S shows that the
 * planner's methods need longer. Of the strategy stalloc, whose packing is heard of without
 * its groups first, all that is known is when the full plan was done.
 *
 * TESSERA_PREVIEW_DRAWS: edits of a kind for a trace (default 2). TESSERA_PREVIEW_FILE:
 * only traces whose name holds this. TESSERA_PREVIEW_OTHER: another trace instead of
 * these. TESSERA_PREVIEW_SEEDS: other edits, "3", or "0..5" of several seeds, which take
 * as much longer: meson test -t 6. TESSERA_PREVIEW_STRATEGY: "stalloc" for all edits and
 * the plan before them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/drawn.h"
#include "recorder/import/import.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A preview may be so much above the full plan. */
#define MOST_ABOVE 1.001
/* And take so long, for so many blocks or fewer; more in proportion. */
#define MOST_S 0.05
#define MOST_S_OF_BLOCKS 10000
/* The full plan was not heard of, or never so low. */
#define NEVER_S G_MAXDOUBLE

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

static const char *const kinds[] = { "nothing",       "pin, anywhere", "pin, at a stop",
                                     "four pins",     "several moved", "together",
                                     "apart",         "dynamic",       "cap",
                                     "stalloc, group" };

typedef struct
{
  TesseraTrace *trace;
  TesseraBlocks *blocks;
  TesseraStructure *structure;
  TesseraPlan *plan; /* without edits */
} Study;

typedef struct
{
  const char *trace;
  TesseraDrawn kind;
  guint seed;
  size_t n_blocks;
  double preview_s, full_s, ratio, above, per_10000_s;
  double near_s, level_s; /* the full plan was within MOST_ABOVE of its end, and as low as
                             the preview; NEVER_S */
} Sample;

/* A height that the full plan has told, and when. */
typedef struct
{
  double at_s;
  uint64_t height_bytes;
} Moment;

typedef struct
{
  double begin_s;
  GArray *moments;
} Watch;

static double
processor_s (void)
{
  struct timespec now;

  clock_gettime (CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double) now.tv_sec + (double) now.tv_nsec * 1e-9;
}

static bool
is_all_stalloc (void)
{
  return g_strcmp0 (g_getenv ("TESSERA_PREVIEW_STRATEGY"), "stalloc") == 0;
}

static TesseraStrategy
strategy_of (TesseraDrawn kind)
{
  return kind == TESSERA_DRAWN_STALLOC || is_all_stalloc () ? TESSERA_STRATEGY_STALLOC
                                                            : TESSERA_STRATEGY_FREE;
}

static void
hear (void *user, const TesseraNews *news)
{
  Watch *watch = user;
  const Moment moment = { processor_s () - watch->begin_s, news->height_bytes };

  if (news->height_bytes != 0)
    g_array_append_val (watch->moments, moment);
}

/* When it first told of a height from @end_bytes to @most_bytes. What is lower than its
 * end is of something else: of one kind of step among several. */
static double
first_s (const Watch *watch, uint64_t end_bytes, double most_bytes, double full_s)
{
  for (guint i = 0; i < watch->moments->len; i++)
    {
      const Moment *moment = &g_array_index (watch->moments, Moment, i);
      if (moment->height_bytes >= end_bytes &&
          (double) moment->height_bytes <= most_bytes)
        return moment->at_s;
    }
  return (double) end_bytes <= most_bytes ? full_s : NEVER_S;
}

/* NULL: the edits can't hold together. @watch: (nullable): told of by the plan */
static TesseraPlan *
plan (const Study *study,
      const GArray *edits,
      TesseraStrategy strategy,
      Watch *watch,
      double *out_s)
{
  const TesseraListener listener = { hear, watch };
  const TesseraPlanOptions options = { .edits = (const TesseraEdit *) edits->data,
                                       .n_edits = edits->len,
                                       .strategy = strategy,
                                       .is_preview = watch == NULL,
                                       .former = study->plan,
                                       .first_step = -1,
                                       .last_step = -1,
                                       .listener = watch ? &listener : NULL };
  TesseraError error = { 0 };
  TesseraPlan *made = NULL;
  double begin_s = processor_s ();
  TesseraStatus status;

  if (watch != NULL)
    watch->begin_s = begin_s;
  status = tessera_plan_trace (study->trace, study->blocks, study->structure, &options,
                               &error, &made);
  *out_s = processor_s () - begin_s;
  if (status != TESSERA_OK && status != TESSERA_REFUSED)
    g_error ("%s", error.text);
  return made;
}

static void
compare (const Study *study,
         const Watch *watch,
         const TesseraPlan *preview,
         const TesseraPlan *full,
         Sample *sample)
{
  const double preview_bytes = (double) preview->height_bytes,
               full_bytes = (double) full->height_bytes;
  const bool is_heard = strategy_of (sample->kind) == TESSERA_STRATEGY_FREE;

  sample->n_blocks = study->blocks->n_blocks;
  sample->ratio = preview_bytes / full_bytes;
  sample->above = full_bytes / (double) study->plan->height_bytes;
  sample->per_10000_s = sample->preview_s * 10000 / (double) MAX (sample->n_blocks, 1);
  sample->near_s = sample->level_s = NEVER_S;
  if (!is_heard)
    return;
  sample->near_s =
      first_s (watch, full->height_bytes, full_bytes * MOST_ABOVE, sample->full_s);
  sample->level_s = first_s (watch, full->height_bytes, preview_bytes, sample->full_s);
}

/* Draws until the edits can hold. */
static bool
sample_kind (const Study *study, GRand *random, Sample *sample)
{
  TesseraStrategy strategy = strategy_of (sample->kind);
  Watch watch = { .moments = g_array_new (FALSE, TRUE, sizeof (Moment)) };
  GArray *edits = g_array_new (FALSE, TRUE, sizeof (TesseraEdit));
  TesseraPlan *preview = NULL, *full = NULL;
  bool is_sampled;

  for (int i = 0; i < 50 && preview == NULL; i++)
    {
      drawn_edits (study->plan, study->blocks->n_blocks, random, sample->kind, edits);
      preview = plan (study, edits, strategy, NULL, &sample->preview_s);
    }
  if (preview != NULL)
    full = plan (study, edits, strategy, &watch, &sample->full_s);
  is_sampled = full != NULL;
  if (is_sampled)
    compare (study, &watch, preview, full, sample);
  drawn_edits_clear (edits);
  g_array_free (edits, TRUE);
  g_array_free (watch.moments, TRUE);
  tessera_plan_free (preview);
  if (is_sampled)
    tessera_plan_free (full);
  return is_sampled;
}

static void
print_seconds (double seconds)
{
  if (seconds >= NEVER_S)
    g_print (" - |");
  else
    g_print (" %.3f |", seconds);
}

static void
print_sample (const Sample *sample)
{
  g_print ("| %s | %u | %s | %zu | %.3f | %.3f | %.5f | %.5f |", sample->trace,
           sample->seed, kinds[sample->kind], sample->n_blocks, sample->preview_s,
           sample->full_s, sample->ratio, sample->above);
  print_seconds (sample->near_s);
  print_seconds (sample->level_s);
  g_print ("\n");
}

static void
look_at_seed (const Study *study, const char *name, guint seed, GArray *samples)
{
  const char *draws = g_getenv ("TESSERA_PREVIEW_DRAWS");
  guint n_draws = draws ? (guint) atoi (draws) : 2;

  for (guint kind = 0; kind < TESSERA_N_DRAWN; kind++)
    {
      g_autoptr (GRand) random = g_rand_new_with_seed (seed * TESSERA_N_DRAWN + kind + 1);
      for (guint i = 0; i < (kind == TESSERA_DRAWN_NOTHING ? 1 : n_draws); i++)
        {
          Sample sample = { .trace = g_intern_string (name), .kind = kind, .seed = seed };
          if (!sample_kind (study, random, &sample))
            continue;
          g_array_append_val (samples, sample);
          print_sample (&sample);
        }
    }
}

/* "3", "0..5"; of nothing 0. */
static void
get_seeds (guint *first, guint *last)
{
  const char *seeds = g_getenv ("TESSERA_PREVIEW_SEEDS");
  char *end = NULL;

  *first = *last = seeds ? (guint) strtoul (seeds, &end, 10) : 0;
  if (end != NULL && g_str_has_prefix (end, ".."))
    *last = (guint) strtoul (end + 2, &end, 10);
  if (end != NULL && *end != '\0')
    g_error ("TESSERA_PREVIEW_SEEDS is a number, or two as in 0..5");
}

static void
look_at (const char *folder, const char *file, GArray *samples)
{
  const TesseraOpenOptions options = { .device = TESSERA_NONE };
  g_autofree char *path = g_build_filename (folder, file, NULL);
  g_autofree char *name = g_path_get_basename (file);
  g_autoptr (GArray) none = g_array_new (FALSE, TRUE, sizeof (TesseraEdit));
  Watch unheard = { .moments = g_array_new (FALSE, TRUE, sizeof (Moment)) };
  TesseraError error = { 0 };
  Study study = { .plan = NULL };
  double seconds;
  guint first, last;

  get_seeds (&first, &last);
  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    {
      g_array_free (unheard.moments, TRUE);
      return;
    }
  if (tessera_open (path, &options, &error, &study.trace) != TESSERA_OK)
    g_error ("%s", error.text);
  if (tessera_blocks_new (study.trace, &study.blocks) != TESSERA_OK ||
      tessera_structure_new (study.trace, study.blocks, &study.structure) != TESSERA_OK)
    g_error ("not enough memory");
  study.plan =
      plan (&study, none, strategy_of (TESSERA_DRAWN_NOTHING), &unheard, &seconds);
  for (guint seed = first; seed <= last; seed++)
    look_at_seed (&study, name, seed, samples);
  g_array_free (unheard.moments, TRUE);
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

/* Median, 95th of a hundred, worst of one field of the samples of a kind. */
static void
print_spread (const GArray *samples, TesseraDrawn kind, gsize field, const char *format)
{
  g_autofree double *values = g_new (double, samples->len + 1);
  guint n = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *sample = &g_array_index (samples, Sample, i);
      if (sample->kind == kind)
        values[n++] = *(const double *) ((const char *) sample + field);
    }
  qsort (values, n, sizeof *values, compare_numbers);
  for (int part = 50; part <= 105; part += part == 50 ? 45 : 5)
    {
      g_print (" | ");
      g_print (format, values[MIN (n - 1, n * (guint) part / 100)]);
      if (part == 100)
        break;
    }
}

static bool
is_above (const Sample *sample)
{
  return sample->ratio > MOST_ABOVE;
}

static double
most_s (const Sample *sample)
{
  return MOST_S * (double) MAX (sample->n_blocks, MOST_S_OF_BLOCKS) / MOST_S_OF_BLOCKS;
}

static bool
is_late (const Sample *sample)
{
  return sample->preview_s > most_s (sample);
}

/* The full plan met both aims. */
static bool
is_within_reach (const Sample *sample)
{
  return MIN (sample->near_s, sample->full_s) <= most_s (sample);
}

/* Nobody knows whether it did. */
static bool
is_unheard (const Sample *sample)
{
  return sample->near_s >= NEVER_S && !is_within_reach (sample);
}

/* @kind: TESSERA_N_DRAWN: all */
static void
print_misses (const GArray *samples, TesseraDrawn kind)
{
  guint n = 0, n_above = 0, n_late = 0, n_missed = 0, n_within_reach = 0, n_unheard = 0;

  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *sample = &g_array_index (samples, Sample, i);
      bool is_missed = is_above (sample) || is_late (sample);
      if (kind != TESSERA_N_DRAWN && sample->kind != kind)
        continue;
      n++;
      n_above += is_above (sample);
      n_late += is_late (sample);
      n_missed += is_missed;
      n_within_reach += is_missed && is_within_reach (sample);
      n_unheard += is_missed && is_unheard (sample);
    }
  if (kind == TESSERA_N_DRAWN)
    g_print (
        "\n%u of %u previews are within 0.1 %% of the full plan, %u in time (50 ms, of "
        "more than 10,000 blocks in proportion), %u both\n"
        "%u of %u misses: the full plan itself was not as near in that time; in %u it "
        "was, of %u (stalloc) nobody heard\n",
        n - n_above, n, n - n_late, n - n_missed, n_missed - n_within_reach - n_unheard,
        n_missed, n_within_reach, n_unheard);
  else
    g_print (" | %u | %u | %u |\n", n_above, n_late, n_within_reach);
}

static guint
count (const GArray *samples, TesseraDrawn kind)
{
  guint n = 0;

  for (guint i = 0; i < samples->len; i++)
    n += g_array_index (samples, Sample, i).kind == kind;
  return n;
}

static void
print_kinds (const GArray *samples)
{
  g_print (
      "\n| edit | number | preview / full: median, 95 %%, worst | | | preview, s for "
      "10,000 blocks: median, 95 %%, worst | | | full / without: median, 95 %%, "
      "worst | | | full plan, s: median, 95 %%, worst | | | above 0.1 %% | late | "
      "of both, the full plan in time |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (TesseraDrawn kind = 0; kind < TESSERA_N_DRAWN; kind++)
    {
      if (count (samples, kind) == 0)
        continue;
      g_print ("| %s | %u", kinds[kind], count (samples, kind));
      print_spread (samples, kind, offsetof (Sample, ratio), "%.5f");
      print_spread (samples, kind, offsetof (Sample, per_10000_s), "%.3f");
      print_spread (samples, kind, offsetof (Sample, above), "%.5f");
      print_spread (samples, kind, offsetof (Sample, full_s), "%.2f");
      print_misses (samples, kind);
    }
}

/* Each that misses an aim, in words. */
static void
explain (const Sample *sample)
{
  const double ms = 1000;

  g_print ("%s, seed %u, %s: the preview is %.2f %% above in %.0f ms; the full plan ",
           sample->trace, sample->seed, kinds[sample->kind], (sample->ratio - 1) * 100,
           sample->preview_s * ms);
  if (sample->near_s >= NEVER_S)
    g_print ("needed %.0f ms in all", sample->full_s * ms);
  else
    g_print ("needed %.0f ms to be within 0.1 %%, %.0f in all", sample->near_s * ms,
             sample->full_s * ms);
  g_print (": %.0f ms are %s\n", most_s (sample) * ms,
           is_within_reach (sample) ? "enough"
           : is_unheard (sample)    ? "not enough for all of it"
                                    : "not enough");
}

int
main (void)
{
  const char *folder = g_getenv ("TESSERA_SHARED_DATA");
  const char *only = g_getenv ("TESSERA_PREVIEW_FILE");
  const char *other = g_getenv ("TESSERA_PREVIEW_OTHER");
  GArray *samples = g_array_new (FALSE, TRUE, sizeof (Sample));

  g_print (
      "| trace | seed | edit | blocks | preview, s | full plan, s | preview / full | "
      "full / without | full plan within 0.1 %%, s | as low as the preview, s |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  if (other != NULL)
    look_at (folder ? folder : "", other, samples);
  for (size_t i = 0; other == NULL && i < G_N_ELEMENTS (files); i++)
    if (only == NULL || strstr (files[i], only) != NULL)
      look_at (folder ? folder : "", files[i], samples);
  print_kinds (samples);
  g_print ("\n");
  for (guint i = 0; i < samples->len; i++)
    {
      const Sample *sample = &g_array_index (samples, Sample, i);
      if (is_above (sample) || is_late (sample))
        explain (sample);
    }
  print_misses (samples, TESSERA_N_DRAWN);
  g_array_free (samples, TRUE);
  return 0;
}
