/*
 * See run.h. A dry run tells what every policy needs, so it serves all GPUs. The
 * smallest and the largest value run first; then, as long as for some GPU and policy
 * values are left between the largest that fits and the smallest that does not, one of
 * these.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/run/run.h"

#include <stdio.h>
#include <string.h>

#include "cli/out/picture.h"
#include "db/output.h"

#define MOST_COMBINATIONS 1000
/* What one more of the value takes is known but for some segments; natively, where holes come
 * and go, for a quarter. */
#define NATIVE_MARGIN_SHARE 4
#define MARGIN_BYTES ((double) (64 << 20))

/* What "{batch}" stands for. */
typedef struct
{
  const char *name, *braced;
  char **values;       /* each is tried; NULL: they are searched ... */
  guint64 first, last; /* ... from here to there */
} Axis;

typedef struct
{
  guint combination;
  guint64 value; /* of the axis that is searched */
  const CliTrial *trial;
} Point;

typedef struct
{
  const CliRehearsal *model;
  const CliGpu *gpus;
  guint n_gpus;
  Axis *axes;
  const Axis *searched;
  guint n_axes, n_combinations, n_cells; /* cells: GPU and policy */
  const char *named, *others; /* "batch={batch} length={length}"; without the searched */
  GPtrArray *points;          /* by combination and value */
  CliTrials *trials;
  const TesseraProgress *progress;
  gint64 began_us;
} Sweep;

/* One combination, GPU and policy. */
typedef struct
{
  const Point *before; /* a smaller one than ... */
  const Point *low;    /* ... the largest that fits, below ... */
  const Point *high;   /* ... the smallest that does not */
  guint n_points;      /* that ended, of the combination */
} Bracket;

static const char *const columns[] = { "at",     "gpu",        "available_bytes",
                                       "native", "expandable", "plan",
                                       NULL };

/* The first range is searched; each value of others is tried. */
static void
read_values (Sweep *sweep, Axis *axis, const char *text)
{
  g_autoptr (GString) list = g_string_new (text);

  if (strstr (text, "..") != NULL &&
      cli_read_range (text, "..", &axis->first, &axis->last))
    {
      if (sweep->searched == NULL)
        {
          sweep->searched = axis;
          return;
        }
      g_string_printf (list, "%" G_GUINT64_FORMAT, axis->first);
      for (guint64 i = 1; i <= MIN (axis->last - axis->first, MOST_COMBINATIONS); i++)
        g_string_append_printf (list, ",%" G_GUINT64_FORMAT, axis->first + i);
    }
  else if (*text == '\0' || (g_ascii_isdigit (*text) && strstr (text, "..") != NULL))
    cli_usage ("--sweep %s takes a range like 1..64 or a list like 512,1024, not \"%s\"",
               axis->name, text);
  axis->values = g_strsplit (list->str, ",", -1);
  sweep->n_combinations *= g_strv_length (axis->values);
  if (sweep->n_combinations > MOST_COMBINATIONS)
    cli_usage ("--sweep has more than %d combinations of values", MOST_COMBINATIONS);
}

static void
read_axes (Sweep *sweep, char **sweeps)
{
  g_autoptr (GString) named = g_string_new (NULL);
  g_autoptr (GString) others = g_string_new (NULL);
  g_autofree char *program = g_strjoinv (" ", sweep->model->program);

  sweep->n_axes = g_strv_length (sweeps);
  sweep->axes = g_new0 (Axis, sweep->n_axes);
  sweep->n_combinations = 1;
  for (guint i = 0; i < sweep->n_axes; i++)
    {
      g_auto (GStrv) parts = g_strsplit (sweeps[i], "=", 2);
      Axis *axis = &sweep->axes[i];

      if (g_strv_length (parts) < 2 || *parts[0] == '\0')
        cli_usage ("--sweep takes a name and its values, like batch=1..64, not \"%s\"",
                   sweeps[i]);
      g_autofree char *braced = g_strdup_printf ("{%s}", parts[0]);
      axis->name = g_intern_string (parts[0]);
      axis->braced = g_intern_string (braced);
      if (strstr (named->str, axis->braced) != NULL)
        cli_usage ("--sweep %s is given twice", axis->name);
      if (strstr (program, axis->braced) == NULL &&
          (sweep->model->changes == NULL || !g_str_equal (axis->braced, CLI_SWEEP_TRY)))
        cli_usage ("--sweep %s: write %s where the program's command line has the value",
                   axis->name, axis->braced);
      read_values (sweep, axis, parts[1]);
      g_string_append_printf (named, " %s=%s", axis->name, axis->braced);
      if (axis->values != NULL)
        g_string_append_printf (others, " %s=%s", axis->name, axis->braced);
    }
  if (sweep->searched == NULL)
    cli_usage ("one --sweep takes a range like batch=1..64: the largest value that fits "
               "is searched there");
  sweep->named = g_intern_string (g_strstrip (named->str));
  sweep->others = g_intern_string (g_strstrip (others->str));
}

/* @text with values for names; newly allocated. */
static char *
fill_in (const Sweep *sweep, const char *text, guint combination, guint64 value)
{
  GString *filled = g_string_new (text);
  g_autofree char *searched = g_strdup_printf ("%" G_GUINT64_FORMAT, value);

  for (guint i = 0; i < sweep->n_axes; i++)
    {
      const Axis *axis = &sweep->axes[i];
      guint n = axis->values != NULL ? g_strv_length (axis->values) : 1;

      g_string_replace (filled, axis->braced,
                        axis->values != NULL ? axis->values[combination % n] : searched,
                        0);
      combination /= n;
    }
  return g_string_free (filled, FALSE);
}

static char *
describe (const Sweep *sweep, const Point *point)
{
  return fill_in (sweep, sweep->named, point->combination, point->value);
}

/* By combination and value. */
static int
compare (gconstpointer first, gconstpointer second)
{
  const Point *a = *(const Point *const *) first, *b = *(const Point *const *) second;

  if (a->combination != b->combination)
    return a->combination < b->combination ? -1 : 1;
  return a->value < b->value ? -1 : a->value > b->value;
}

static char **
make_program (const Sweep *sweep, guint combination, guint64 value)
{
  char **program = g_strdupv (sweep->model->program);

  for (char **word = program; *word != NULL; word++)
    {
      g_autofree char *pattern = *word;
      *word = fill_in (sweep, pattern, combination, value);
    }
  return program;
}

static void
start_point (Sweep *sweep, guint combination, guint64 value)
{
  g_auto (GStrv) program = make_program (sweep, combination, value);
  g_autofree char *change = fill_in (sweep, CLI_SWEEP_TRY, combination, value);
  CliRehearsal run = *sweep->model;
  Point *point = g_new0 (Point, 1);

  run.program = program;
  if (run.changes != NULL && !g_str_equal (change, CLI_SWEEP_NOTHING))
    run.job.change = change;
  point->combination = combination;
  point->value = value;
  point->trial = cli_trials_start (sweep->trials, &run);
  g_ptr_array_add (sweep->points, point);
  g_ptr_array_sort (sweep->points, compare);
}

static guint64
available_bytes (const Sweep *sweep, guint cell)
{
  return sweep->gpus[cell / CLI_N_POLICIES].available_bytes;
}

static Bracket
find_bracket (const Sweep *sweep, guint combination, guint cell)
{
  Bracket bracket = { 0 };

  for (guint i = 0; i < sweep->points->len; i++)
    {
      const Point *point = sweep->points->pdata[i];

      if (point->combination != combination || point->trial->state == CLI_TRIAL_RUNNING)
        continue;
      bracket.n_points++;
      if (bracket.high != NULL)
        continue;
      if (point->trial->state == CLI_TRIAL_MEASURED &&
          point->trial->bytes[cell % CLI_N_POLICIES] <= available_bytes (sweep, cell))
        {
          bracket.before = bracket.low;
          bracket.low = point;
        }
      else
        bracket.high = point;
    }
  return bracket;
}

/* Bytes that one more of the value takes, on average between two that were measured; 0: they
 * were not. */
static double
slope_of (const Point *from, const Point *to, guint policy)
{
  if (from == NULL || to->trial->state != CLI_TRIAL_MEASURED ||
      to->trial->bytes[policy] == G_MAXUINT64)
    return 0;
  return ((double) to->trial->bytes[policy] - (double) from->trial->bytes[policy]) /
         (double) (to->value - from->value);
}

/* Whether the value after the largest that fits need not be run: what grows in a line, or bends
 * one way, needs as much more at least as on one of the sides. */
static gboolean
is_next_too_large (const Sweep *sweep, const Bracket *bracket, guint cell)
{
  guint policy = cell % CLI_N_POLICIES;
  double slope = MIN (slope_of (bracket->before, bracket->low, policy),
                      slope_of (bracket->low, bracket->high, policy));
  double room = (double) available_bytes (sweep, cell) -
                (double) bracket->low->trial->bytes[policy];
  double margin =
      policy == 0 ? MAX (slope / NATIVE_MARGIN_SHARE, MARGIN_BYTES) : MARGIN_BYTES;

  return slope - margin > room;
}

static gboolean
is_decided (const Sweep *sweep, const Bracket *bracket, guint cell)
{
  const Point *low = bracket->low, *high = bracket->high;

  return (high != NULL && high->value == sweep->searched->first) ||
         (low != NULL && low->value == sweep->searched->last) ||
         (low != NULL && high != NULL &&
          (low->value + 1 == high->value || is_next_too_large (sweep, bracket, cell)));
}

/* Memory mostly grows in a line, which is soon found; halves are sure. */
static guint64
guess (const Sweep *sweep, const Bracket *bracket, guint cell)
{
  guint policy = cell % CLI_N_POLICIES;
  guint64 width = bracket->high->value - bracket->low->value;
  double low_bytes = (double) bracket->low->trial->bytes[policy];
  double part = ((double) available_bytes (sweep, cell) - low_bytes) /
                ((double) bracket->high->trial->bytes[policy] - low_bytes);

  if (bracket->n_points > 2 + 2 * sweep->n_cells ||
      bracket->high->trial->state != CLI_TRIAL_MEASURED ||
      bracket->high->trial->bytes[policy] == G_MAXUINT64)
    part = 0.5;
  return bracket->low->value + CLAMP ((guint64) ((double) width * part), 1, width - 1);
}

static gboolean
is_started (const Sweep *sweep, guint combination, guint64 value)
{
  for (guint i = 0; i < sweep->points->len; i++)
    {
      const Point *point = sweep->points->pdata[i];

      if (point->combination == combination && point->value == value)
        return TRUE;
    }
  return FALSE;
}

/* Returns FALSE: nothing is to be run, or not before more is known. */
static gboolean
choose_value (const Sweep *sweep, guint combination, guint cell, guint64 *out_value)
{
  const guint64 ends[] = { sweep->searched->first, sweep->searched->last };
  Bracket bracket = find_bracket (sweep, combination, cell);

  if (is_decided (sweep, &bracket, cell))
    return FALSE;
  for (guint i = 0; i < G_N_ELEMENTS (ends); i++)
    if (!is_started (sweep, combination, *out_value = ends[i]))
      return TRUE;
  if (bracket.low == NULL || bracket.high == NULL)
    return FALSE;
  *out_value = guess (sweep, &bracket, cell);
  return !is_started (sweep, combination, *out_value);
}

/* Combinations in turn for one cell: results for that may decide the next. Returns FALSE:
 * there is nothing to start now. */
static gboolean
start_next (gpointer user)
{
  Sweep *sweep = user;
  guint64 value;

  for (guint cell = 0; cell < sweep->n_cells; cell++)
    for (guint i = 0; i < sweep->n_combinations; i++)
      if (choose_value (sweep, i, cell, &value))
        {
          start_point (sweep, i, value);
          return TRUE;
        }
  return FALSE;
}

static double
decided_part (const Sweep *sweep)
{
  guint n = 0;

  for (guint i = 0; i < sweep->n_combinations * sweep->n_cells; i++)
    {
      Bracket bracket = find_bracket (sweep, i / sweep->n_cells, i % sweep->n_cells);
      n += is_decided (sweep, &bracket, i % sweep->n_cells);
    }
  return (double) n / (sweep->n_combinations * sweep->n_cells);
}

static void
tell_end (const CliTrial *trial, gpointer user)
{
  const Sweep *sweep = user;

  for (guint i = 0; i < sweep->points->len; i++)
    {
      const Point *point = sweep->points->pdata[i];

      if (point->trial != trial || trial->state != CLI_TRIAL_FAILED)
        continue;
      g_autofree char *which = describe (sweep, point);
      cli_progress_end ();
      fprintf (stderr, "tessera: %s failed: %s\n", cli_shown (which),
               cli_shown (trial->remark));
    }
  tessera_progress (sweep->progress, decided_part (sweep));
}

/* "12", "64+", "none", and where the script and not memory ends the range, that. */
static char *
bracket_text (const Bracket *bracket)
{
  gboolean fails =
      bracket->high != NULL && bracket->high->trial->state == CLI_TRIAL_FAILED;

  if (bracket->low == NULL)
    return g_strdup (fails ? "fails" : "none");
  return g_strdup_printf ("%" G_GUINT64_FORMAT "%s", bracket->low->value,
                          bracket->high == NULL ? "+"
                          : fails               ? " (then fails)"
                                                : "");
}

/* "Largest batch on h100-80 at length=2048: 12 natively, 14 with ...": of the last row. */
static char *
make_sentence (const Sweep *sweep)
{
  static const char *const how[] = { "natively", "with expandable segments",
                                     "with the plan" };
  guint last = sweep->n_combinations - 1;
  g_autofree char *at = fill_in (sweep, sweep->others, last, 0);
  GString *text = g_string_new (NULL);

  g_string_printf (text, "Largest %s on %s%s%s", sweep->searched->name,
                   sweep->gpus[sweep->n_gpus - 1].name, *at != '\0' ? " at " : "", at);
  for (guint i = 0; i < CLI_N_POLICIES; i++)
    {
      Bracket bracket = find_bracket (sweep, last, sweep->n_cells - CLI_N_POLICIES + i);
      g_autofree char *value = bracket_text (&bracket);
      g_string_append_printf (text, "%s %s %s", i > 0 ? "," : ":", value, how[i]);
    }
  return g_string_free (g_string_append_c (text, '.'), FALSE);
}

/* What @point and the next smaller value (or NULL) say beside their figures. */
static void
add_notes (const Sweep *sweep, const Point *before, const Point *point, GPtrArray *notes)
{
  g_autofree char *which = describe (sweep, point);
  const CliTrial *trial = point->trial;

  if (trial->state != CLI_TRIAL_MEASURED)
    return;
  if (*trial->remark != '\0' &&
      (before == NULL || strcmp (trial->remark, before->trial->remark) != 0))
    g_ptr_array_add (notes, g_strdup_printf ("%s: %s", which, trial->remark));
  for (guint i = 0; i < CLI_N_POLICIES; i++)
    if (before != NULL && before->trial->state == CLI_TRIAL_MEASURED &&
        before->trial->bytes[i] > trial->bytes[i])
      g_ptr_array_add (
          notes, g_strdup_printf ("%s needs less (%s: %s) than %" G_GUINT64_FORMAT
                                  " (%s): a larger one than found may fit",
                                  which, columns[3 + i], TESSERA_SIZE (trial->bytes[i]),
                                  before->value, TESSERA_SIZE (before->trial->bytes[i])));
}

static GPtrArray *
list_notes (const Sweep *sweep)
{
  GPtrArray *notes = g_ptr_array_new_with_free_func (g_free);
  const CliJob *job = &sweep->model->job;
  gint64 took_us = g_get_monotonic_time () - sweep->began_us;

  g_ptr_array_add (
      notes, g_strdup_printf ("%u dry runs of %" G_GINT64_FORMAT "-%" G_GINT64_FORMAT
                              " steps%s in %.0f s, %u at a time",
                              sweep->points->len, job->least_steps, job->most_steps,
                              job->most_events > 0 ? " and more (--events)" : "",
                              (double) took_us / G_USEC_PER_SEC,
                              cli_most_jobs (sweep->model->n_jobs)));
  g_ptr_array_add (
      notes, g_strdup_printf ("assumed: memory grows with %s, in a line or bent one way",
                              sweep->searched->name));
  g_ptr_array_add (notes,
                   g_strdup_printf ("head-room of each GPU %s (%s)",
                                    TESSERA_SIZE (sweep->model->question.headroom_bytes),
                                    sweep->model->question.headroom_why));
  for (guint i = 0; i < sweep->points->len; i++)
    {
      const Point *point = sweep->points->pdata[i];
      const Point *before = i > 0 ? sweep->points->pdata[i - 1] : NULL;

      if (before != NULL && before->combination != point->combination)
        before = NULL;
      add_notes (sweep, before, point, notes);
    }
  return notes;
}

/* Returns whether anything fits. */
static gboolean
tell_largest (const Sweep *sweep)
{
  CliTable *table = cli_table_new ("largest", columns);
  gboolean fits = FALSE;

  for (guint i = 0; i < sweep->n_combinations * sweep->n_cells; i++)
    {
      guint combination = i / sweep->n_cells, cell = i % sweep->n_cells;
      const CliGpu *gpu = &sweep->gpus[cell / CLI_N_POLICIES];
      Bracket bracket = find_bracket (sweep, combination, cell);
      g_autofree char *at = fill_in (sweep, sweep->others, combination, 0);
      g_autofree char *text = bracket_text (&bracket);

      if (cell % CLI_N_POLICIES == 0)
        {
          cli_table_text (table, at);
          cli_table_text (table, gpu->name);
          cli_table_integer (table, gpu->available_bytes);
        }
      if (!cli_given.json)
        cli_table_text (table, text);
      else
        cli_table_integer (table, bracket.low != NULL ? bracket.low->value : G_MAXUINT64);
      fits = fits || bracket.low != NULL;
    }
  cli_table_print (table);
  return fits;
}

static TesseraStatus
draw_frontier (cairo_t *cr,
               const CliSheet *sheet,
               gconstpointer frontier,
               TesseraError *error)
{
  tessera_frontier_draw (frontier, cr, sheet->width, sheet->height);
  return TESSERA_OK;
}

static void
write_picture (const Sweep *sweep, const char *path)
{
  const CliSheet sheet = {
    .width = 1200, .height = 760, .scale = 2, .is_svg = g_str_has_suffix (path, ".svg")
  };
  guint n = sweep->n_combinations * sweep->n_cells;
  g_autofree guint64 *largest = g_new0 (guint64, n);
  g_auto (GStrv) at = g_new0 (char *, sweep->n_combinations + 1);
  g_autofree char *title =
      g_strdup_printf ("Largest %s that fits", sweep->searched->name);
  g_autofree const char **gpus = g_new0 (const char *, sweep->n_gpus);
  const TesseraFrontier frontier = { .title = title,
                                     .at = (const char *const *) at,
                                     .gpus = gpus,
                                     .n_at = sweep->n_combinations,
                                     .n_gpus = sweep->n_gpus,
                                     .largest = largest,
                                     .last = sweep->searched->last };
  g_autoptr (GBytes) bytes = NULL;
  gsize n_bytes;

  for (guint i = 0; i < n; i++)
    {
      Bracket bracket = find_bracket (sweep, i / sweep->n_cells, i % sweep->n_cells);
      largest[i] = bracket.low != NULL ? bracket.low->value : 0;
    }
  for (guint i = 0; i < sweep->n_combinations; i++)
    at[i] = fill_in (sweep, sweep->others, i, 0);
  for (guint i = 0; i < sweep->n_gpus; i++)
    gpus[i] = sweep->gpus[i].name;
  cli_must (cli_draw_picture (&sheet, draw_frontier, &frontier, cli_error (), &bytes));
  const char *data = g_bytes_get_data (bytes, &n_bytes);
  cli_must (tessera_write_file (path, data, n_bytes, cli_error ()));
}

/* For programs: each run, with what each policy needs. */
static void
member_runs (const Sweep *sweep)
{
  static const char *const outcomes[] = { "running", "measured", "memory", "failed" };
  static const char *const keys[] = { "native_bytes", "expandable_bytes", "plan_bytes" };

  cli_array ("runs");
  for (guint i = 0; i < sweep->points->len; i++)
    {
      const Point *point = sweep->points->pdata[i];
      const CliTrial *trial = point->trial;
      const gboolean is_measured = trial->state == CLI_TRIAL_MEASURED;
      g_autofree char *which = describe (sweep, point);

      cli_object (NULL);
      cli_member ("run", which);
      cli_member ("outcome", outcomes[trial->state]);
      cli_member ("value", point->value);
      for (guint k = 0; k < CLI_N_POLICIES; k++)
        cli_member (keys[k], is_measured ? trial->bytes[k] : G_MAXUINT64);
      cli_member ("remark", *trial->remark != '\0' ? trial->remark : NULL);
      cli_close ();
    }
  cli_close ();
}

/* Returns whether anything fits. */
static gboolean
tell (const Sweep *sweep)
{
  g_autofree char *sentence = make_sentence (sweep);
  g_autoptr (GPtrArray) notes = list_notes (sweep);

  cli_say ("%s\n\n", cli_shown (sentence));
  cli_member ("sentence", sentence);
  cli_member ("searched", sweep->searched->name);
  cli_member ("first", sweep->searched->first);
  cli_member ("last", sweep->searched->last);
  const gboolean fits = tell_largest (sweep);
  member_runs (sweep);
  cli_say ("\n");
  cli_array ("notes");
  for (guint i = 0; i < notes->len; i++)
    {
      const char *note = notes->pdata[i];

      cli_say ("%s\n", cli_shown (note));
      cli_member (NULL, note);
    }
  cli_close ();
  cli_answer_end ();
  return fits;
}

static void
clear (Sweep *sweep)
{
  for (guint i = 0; i < sweep->n_axes; i++)
    g_strfreev (sweep->axes[i].values);
  g_free (sweep->axes);
  cli_trials_free (sweep->trials);
  g_ptr_array_unref (sweep->points);
}

int
cli_sweep (const CliRehearsal *model,
           char **sweeps,
           const CliGpu *gpus,
           guint n_gpus,
           const char *picture)
{
  gboolean has_failed = FALSE;
  Sweep sweep = { .model = model,
                  .gpus = gpus,
                  .n_gpus = n_gpus,
                  .n_cells = n_gpus * CLI_N_POLICIES,
                  .points = g_ptr_array_new_with_free_func (g_free),
                  .began_us = g_get_monotonic_time () };

  read_axes (&sweep, sweeps);
  /* What is wrong with every run is said once, before the first. */
  g_auto (GStrv) program = make_program (&sweep, 0, sweep.searched->first);
  cli_job_check (&model->job, program);
  sweep.trials = cli_trials_new (model->n_jobs);
  sweep.progress = cli_progress ("searching the largest that fits");
  cli_trials_run (sweep.trials, start_next, tell_end, &sweep);
  gboolean fits = tell (&sweep);
  if (picture != NULL)
    write_picture (&sweep, picture);
  for (guint i = 0; i < sweep.points->len; i++)
    has_failed |= ((Point *) sweep.points->pdata[i])->trial->state == CLI_TRIAL_FAILED;
  clear (&sweep);
  return has_failed ? CLI_SCRIPT_FAILED : fits ? CLI_DONE : CLI_DOES_NOT_FIT;
}
