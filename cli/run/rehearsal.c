/* See run.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/run.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

char *
cli_path_beside (const char *trace_path, const char *ending)
{
  const size_t n_suffix = g_str_has_suffix (trace_path, ".tsr") ? strlen (".tsr") : 0;

  return g_strdup_printf ("%.*s%s", (int) (strlen (trace_path) - n_suffix), trace_path,
                          ending);
}

/* Another one lies at the path after recording, which replaces what was there. */
static gboolean
is_same_file (const GStatBuf *a, const GStatBuf *b)
{
  return a->st_ino == b->st_ino && a->st_size == b->st_size &&
         a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
         a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Whether the program's last word was that memory is out. */
static gboolean
died_of_memory (const CliRehearsal *run)
{
  g_autoptr (TesseraTrace) trace = NULL;

  return tessera_trace_load (run->job.record, TESSERA_NONE, NULL, NULL, &trace) ==
             TESSERA_OK &&
         g_strcmp0 (tessera_trace_get_meta (trace, "died_of"), "memory") == 0;
}

/* "how it ended; what is kept": for a program that did not come to a good end. */
static int
tell_end (const CliRehearsal *run, const CliJobEnd *end, gboolean has_trace)
{
  gboolean has_failed = end->signal_number != 0 || end->status != 0;
  gboolean is_memory = has_trace && has_failed && died_of_memory (run);
  g_autofree char *shown = g_filename_display_name (run->job.record);
  g_autofree char *program = g_filename_display_name (run->program[0]);
  g_autofree char *how =
      end->stopped_by != 0 ? g_strdup_printf ("%s was stopped", program)
      : end->signal_number != 0
          ? g_strdup_printf ("%s was ended by signal %d (%s)", program,
                             end->signal_number, strsignal (end->signal_number))
      : is_memory ? g_strdup_printf ("%s died of memory of the GPU (status %d)", program,
                                     end->status)
      : end->status != 0
          ? g_strdup_printf ("%s ended with status %d", program, end->status)
          : g_strdup_printf ("%s ended", program);

  if (has_trace)
    cli_complain ("%s; what it did until then is in %s (tessera info %s)", how, shown,
                  shown);
  else if (end->stopped_by != 0 || has_failed)
    cli_complain ("%s before it allocated memory of the GPU: nothing was recorded", how);
  else
    cli_complain ("%s and allocated no memory of the GPU: nothing was recorded; does it "
                  "move its model to \"cuda\"?",
                  how);
  return is_memory                            ? CLI_DOES_NOT_FIT
         : has_failed && end->stopped_by == 0 ? CLI_SCRIPT_FAILED
                                              : CLI_FAILED;
}

/* Processor seconds: other work on the machine does not lengthen them. */
static double
seconds_used (int whose)
{
  struct rusage used;
  getrusage (whose, &used);
  return (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* How much of the script is in the trace. */
typedef struct
{
  guint n_evaluations;
  gboolean is_complete, is_interrupted;
  char *text; /* a sentence, to be freed */
} Seen;

static gboolean
is_evaluation (const char *name)
{
  static const char *const begins[] = { "eval", "valid", "test", "predict", "generat" };

  for (size_t i = 0; i < G_N_ELEMENTS (begins); i++)
    if (g_ascii_strncasecmp (name, begins[i], strlen (begins[i])) == 0)
      return TRUE;
  return FALSE;
}

/* Phases of that name between the same two steps, or inside of the same one, are one
 * evaluation. Inside of most steps they are how the program trains, and before the first one
 * perhaps as well: a teacher's forward pass. Steps that nobody told but the repetition cut it
 * in many. */
static guint
count_evaluations (const CliStudy *study)
{
  const TesseraStructure *structure = study->structure;
  size_t n_steps =
      structure->steps_from == TESSERA_STEPS_ANNOTATED ? structure->n_steps : 0;
  size_t step = 0, counted_at[2] = { G_MAXSIZE, G_MAXSIZE }; /* between steps, inside */
  guint n[2] = { 0, 0 };

  for (size_t i = 0; i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];
      gboolean is_inside;

      while (step < n_steps && structure->steps[step].end_index <= phase->begin_index)
        step++;
      is_inside =
          step < n_steps && structure->steps[step].begin_index <= phase->begin_index;
      if (step == counted_at[is_inside] || phase->depth > 0 ||
          (n_steps > 0 && step == 0) ||
          !is_evaluation (tessera_phase_name (study->trace, phase)))
        continue;
      counted_at[is_inside] = step;
      n[is_inside]++;
    }
  return n[FALSE] + (2 * n[TRUE] <= n_steps ? n[TRUE] : 0);
}

/* "Seen: 380 steps, no evaluation yet; stopped at 2,000,000 events in step 380." */
static void
see (const CliStudy *study, gboolean is_interrupted, Seen *seen)
{
  const char *stopped = tessera_trace_get_meta (study->trace, "stopped");
  size_t n_steps = study->structure->n_steps;
  gboolean has_steps = study->structure->steps_from == TESSERA_STEPS_ANNOTATED;
  g_autofree char *at = has_steps ? g_strdup_printf ("in step %zu", n_steps)
                                  : g_strdup ("before the first");
  g_autofree char *steps =
      has_steps ? g_strdup_printf ("%zu step%s", n_steps, n_steps == 1 ? "" : "s")
                : g_strdup ("no step of an optimizer");
  g_autofree char *evaluations = NULL;

  seen->is_interrupted = is_interrupted;
  seen->n_evaluations = count_evaluations (study);
  seen->is_complete =
      !is_interrupted && stopped == NULL && tessera_describe_cut (study->trace) == NULL;
  evaluations =
      seen->n_evaluations > 0
          ? g_strdup_printf ("%u evaluation%s", seen->n_evaluations,
                             seen->n_evaluations == 1 ? "" : "s")
          : g_strdup_printf ("no evaluation%s", seen->is_complete ? "" : " yet");
  g_autofree char *end =
      is_interrupted      ? g_strdup_printf ("; stopped by Ctrl-C %s", at)
      : seen->is_complete ? g_strdup (", to the end of the script")
      : stopped == NULL   ? g_strdup_printf ("; the recording breaks off %s", at)
      : g_str_equal (stopped, "events")
          ? g_strdup_printf ("; stopped at %zu events %s (--events)",
                             study->trace->n_events, at)
      : g_str_equal (stopped, "values")
          ? g_strdup_printf ("; stopped %s, which asks for no more memory", at)
      : g_str_equal (stopped, "seconds") ? g_strdup_printf ("; stopped %s (--for)", at)
                                         : g_strdup ("; stopped after these (--steps)");
  seen->text = g_strdup_printf ("Seen: %s, %s%s.", steps, evaluations, end);
}

/* What the trace of a second run says, where it made one: a sentence; NULL: the script did not
 * get on. */
static char *
describe_adapted (const CliRehearsal *first, const CliStudy *study, const char *path)
{
  g_auto (CliStudy) again = { 0 };

  if (!g_file_test (path, G_FILE_TEST_EXISTS))
    return NULL;
  cli_study_open (&again, path);
  cli_study_live (&again);
  const TesseraStructure *structure = again.structure;
  const TesseraLayout *layout = again.layout;
  const guint64 batch = tessera_trace_get_number (again.trace, "batch");
  const guint64 batch_before = tessera_trace_get_number (study->trace, "batch");
  if (structure->n_steps == 0 || layout->n_ooms == 0 ||
      structure->steps[structure->n_steps - 1].begin_index <= layout->ooms[0].event_index)
    return NULL;
  g_autofree char *change = batch == 0 || batch == batch_before
                                ? g_strdup ("")
                                : g_strdup_printf (" with batch %" G_GUINT64_FORMAT
                                                   " instead of %" G_GUINT64_FORMAT,
                                                   batch, batch_before);
  return g_strdup_printf ("Catches that memory is out and goes on%s: with the memory of "
                          "%s %zu request%s failed "
                          "and %zu step%s done, at most %s reserved (%s).",
                          change, first->question.gpu, layout->n_ooms,
                          layout->n_ooms == 1 ? "" : "s", structure->n_steps,
                          structure->n_steps == 1 ? " was" : "s were",
                          TESSERA_SIZE (layout->peak_reserved_bytes), path);
}

/* A dry run that does not fit, once more with the memory that the GPU has: a script may
 * catch that memory is out and go on with less. What goes wrong is no news. Returns: how it got
 * on, whose trace stays; or NULL */
static char *
run_again (const CliRehearsal *first, const CliStudy *study)
{
  g_autofree char *path = cli_path_beside (first->job.record, "-adapted.tsr");
  CliJob job = first->job;
  char *adapted = NULL;

  job.record = path;
  job.budget_bytes = cli_answer_available (&first->question);
  job.stacks = "0";
  g_unlink (path);
  fprintf (stderr,
           "tessera: natively it does not fit %s; once more with the memory of that, to "
           "see whether the script adapts\n",
           first->question.gpu);
  const CliJobEnd end = cli_job_wait (&job, first->program, STDERR_FILENO);
  if (end.status == 0 && end.signal_number == 0 && end.stopped_by == 0)
    adapted = describe_adapted (first, study, path);
  if (adapted == NULL)
    g_unlink (path);
  return adapted;
}

/* Who follows a plan asks about that. */
static void
advise (const CliRehearsal *run, CliStudy *study, gboolean is_interrupted)
{
  g_auto (TesseraWhose) whose = { 0 };

  if (study->followed != NULL)
    return;
  cli_whose_init (&whose, study, NULL);
  if (run->changes != NULL && is_interrupted)
    fputs ("tessera: stopped by Ctrl-C, up to which each run with a change would go on: "
           "none is tried\n",
           stderr);
  else if (run->changes != NULL)
    cli_try (run, study, &whose);
  cli_tell_suggestions (study, &whose);
}

/* The files, and what is in them. */
static void
tell_files (const CliRehearsal *run, const CliStudy *study)
{
  const size_t n_steps = study->structure->n_steps;

  cli_say ("trace %s: %zu events, %zu blocks, %zu step%s\nplan  %s%s\n",
           cli_shown (run->job.record), study->trace->n_events, study->blocks->n_blocks,
           n_steps, n_steps == 1 ? "" : "s", cli_shown (run->plan_path),
           study->followed != NULL ? ", a new one, made from this run" : "");
  cli_member ("trace", run->job.record);
  cli_member ("plan", run->plan_path);
  cli_member ("followed_plan", run->job.plan);
  cli_member ("events", study->trace->n_events);
  cli_member ("blocks", study->blocks->n_blocks);
  cli_member ("steps", n_steps);
  cli_member ("height_bytes", study->plan->height_bytes);
  if (study->followed != NULL && study->layout->declined_index != 0)
    {
      g_autofree char *program = g_strjoinv (" ", run->program);
      cli_say ("to follow that: tessera run --plan %s -- %s\n",
               cli_shown (run->plan_path), cli_shown (program));
    }
}

static void
tell (const CliRehearsal *run,
      CliStudy *study,
      const Seen *seen,
      double trace_seconds,
      double plan_seconds)
{
  cli_say ("\n%s\n", seen->text);
  cli_member ("seen", seen->text);
  cli_member_bool ("complete", seen->is_complete);
  cli_member ("evaluations", seen->n_evaluations);
  cli_member ("adapts", run->question.adapted);
  cli_answer_tell (study, &run->question);
  cli_say ("\n");
  cli_tell_recording (study);
  tell_files (run, study);
  cli_answer_tell_smallest (study, &run->question);
  cli_member ("trace_cpu_seconds", trace_seconds);
  cli_member ("plan_cpu_seconds", plan_seconds);
  cli_member ("not_tried", tessera_trace_get_meta (study->trace, "not_tried"));
  advise (run, study, seen->is_interrupted);
}

/* Steps that are never alike are not in the next run either: where autocast frees its casts
 * in another order each time, a run that was given such a plan reserved half as much again as
 * PyTorch. Fewer steps say nothing of that. Nor are those in which answers end by themselves. */
#define LEAST_STEPS_ALIKE 3

static void
decline_unlike_steps (CliStudy *study)
{
  TesseraPlan *plan = study->plan;
  const char *reason = NULL;

  if (tessera_trace_get_meta (study->trace, "answers_end") != NULL &&
      plan->followable != TESSERA_FOLLOWABLE_NO)
    reason =
        "each step generates answers, to their greatest length here, while in a run "
        "they end by themselves, in each step elsewhere (not so where min_new_tokens "
        "is max_new_tokens)";
  else if (plan->followable == TESSERA_FOLLOWABLE_SAME_BATCHES &&
           study->lengths == NULL && study->structure->n_steps >= LEAST_STEPS_ALIKE)
    reason = plan->n_rooms > 0
                 ? "steps ask for sizes that vary, in another run for others; "
                   "tessera plan makes one for a run of exactly these requests"
                 : "no two of the steps that were seen are alike, so that no other run's "
                   "would be; tessera plan makes one for a run of exactly these requests";
  if (reason == NULL)
    return;
  plan->followable = TESSERA_FOLLOWABLE_NO;
  g_free (plan->follow_reason);
  plan->follow_reason = g_strdup (reason);
}

/* Plans from all that was seen, as `tessera plan` does of the trace: an evaluation or a last
 * batch that comes late has its places too. */
static void
plan (CliStudy *study)
{
  TesseraPlanOptions options = { .first_step = -1,
                                 .last_step = -1,
                                 .progress = cli_progress ("planning") };

  cli_study_streams (&options);
  cli_study_plan (study, &options);
  cli_study_as_run (study, (TesseraParameters){ 0 });
  decline_unlike_steps (study);
}

/* Who stops a dry run after some steps wants to know of these alone. */
static gboolean
may_adapt (const CliRehearsal *run, const CliStudy *study)
{
  guint64 available_bytes = cli_answer_available (&run->question);

  return study->need[TESSERA_LAYOUT_NATIVE].smallest_bytes > available_bytes &&
         available_bytes > 0 && g_str_equal (run->job.policy, "native") &&
         (run->job.most_events > 0 || run->job.most_seconds > 0);
}

/* What is asked of a run for its figures alone. */
static void
measure (const CliStudy *study, CliTrial *trial)
{
  const char *not_tried = tessera_trace_get_meta (study->trace, "not_tried");
  const gboolean is_followable = study->plan->followable != TESSERA_FOLLOWABLE_NO;

  for (guint i = 0; i < CLI_N_POLICIES; i++)
    trial->bytes[i] = cli_policies[i] == TESSERA_LAYOUT_PLAN && !is_followable
                          ? G_MAXUINT64
                          : study->need[cli_policies[i]].smallest_bytes;
  trial->live_bytes = study->layout->peak_live_bytes;
  trial->is_unchanged = not_tried != NULL;
  g_strlcpy (trial->remark,
             not_tried != NULL ? not_tried
             : study->structure->n_steps == 0
                 ? "no whole step was seen, only the script's start"
             : study->needs.leak.step_bytes > 0
                 ? "each step keeps more than the one before, so a longer run needs more"
             : is_followable ? ""
                             : "no run follows the plan",
             sizeof trial->remark);
}

/* The trace studied, planned and answered from. */
static int
answer (CliRehearsal *run, gboolean is_interrupted)
{
  g_auto (CliStudy) study = { 0 };
  g_autofree char *adapted = NULL;
  Seen seen = { 0 };
  const double trace_seconds = seconds_used (RUSAGE_CHILDREN);

  cli_study_open (&study, run->job.record);
  cli_study_layout (&study, TESSERA_LAYOUT_RECORDED);
  const double before_seconds = seconds_used (RUSAGE_SELF);
  plan (&study);
  const double plan_seconds = seconds_used (RUSAGE_SELF) - before_seconds;
  cli_must (tessera_plan_save (study.plan, run->plan_path, cli_error ()));
  if (run->followed != NULL)
    cli_study_follow (&study, g_steal_pointer (&run->followed), run->job.plan,
                      g_strcmp0 (run->job.follow, "trace") != 0);
  cli_study_needs (&study);
  cli_progress_end ();
  if (run->trial != NULL)
    {
      measure (&study, run->trial);
      return CLI_DONE;
    }
  see (&study, is_interrupted, &seen);
  run->question.is_complete = seen.is_complete;
  if (!is_interrupted && may_adapt (run, &study))
    adapted = run_again (run, &study);
  run->question.adapted = adapted;
  if (study.structure->n_steps == 0)
    fputs ("tessera: no whole step was seen, so the answer is about the start only\n",
           stderr);
  tell (run, &study, &seen, trace_seconds, plan_seconds);
  int result = cli_answer_is_yes (&study, &run->question) ? CLI_DONE : CLI_DOES_NOT_FIT;
  g_free (seen.text);
  return result;
}

int
cli_rehearse (CliRehearsal *run)
{
  GStatBuf before = { 0 }, after = { 0 };

  g_stat (run->job.record, &before);
  cli_job_check (&run->job, run->program);
  const CliJobEnd end =
      cli_job_wait (&run->job, run->program, cli_given.json ? STDERR_FILENO : -1);
  gboolean has_trace =
      g_stat (run->job.record, &after) == 0 && !is_same_file (&before, &after);
  /* Ctrl-C asks for the answer. */
  if (!has_trace || (end.stopped_by != 0 ? end.stopped_by != SIGINT
                                         : end.signal_number != 0 || end.status != 0))
    return tell_end (run, &end, has_trace);
  return answer (run, end.stopped_by != 0);
}
