/* See rehearsal.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/rehearsal.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "cli/program.h"
#include "cli/recording.h"
#include "db/store.h"

/* Which file lies at a path: another one after recording, which replaces it. */
typedef struct
{
  gboolean exists;
  struct stat at;
} FileMark;

static FileMark
mark_file (const char *path)
{
  FileMark mark = { 0 };
  mark.exists = stat (path, &mark.at) == 0;
  return mark;
}

static gboolean
is_same_file (const FileMark *a, const FileMark *b)
{
  return a->exists == b->exists &&
         (!a->exists || (a->at.st_ino == b->at.st_ino && a->at.st_size == b->at.st_size &&
                         a->at.st_mtim.tv_sec == b->at.st_mtim.tv_sec &&
                         a->at.st_mtim.tv_nsec == b->at.st_mtim.tv_nsec));
}

/* Whether the program's last word was that memory is out. */
static gboolean
died_of_memory (const CliRehearsal *run)
{
  TesseraTrace *trace = NULL;
  gboolean did = tessera_trace_load (run->trace_path, TESSERA_NONE, NULL, NULL, &trace) ==
                     TESSERA_OK &&
                 g_strcmp0 (tessera_trace_get_meta (trace, "died_of"), "memory") == 0;

  tessera_trace_free (trace);
  return did;
}

/* "how it ended; what is kept": for a program that did not come to a good end. */
static int
tell_end (const CliRehearsal *run, const CliJobEnd *end, gboolean has_trace)
{
  gboolean has_failed = end->signal_number != 0 || end->status != 0;
  gboolean is_memory = has_trace && has_failed && died_of_memory (run);
  g_autofree char *shown = g_filename_display_name (run->trace_path);
  g_autofree char *program = g_filename_display_name (run->program[0]);
  g_autofree char *how =
      end->was_stopped ? g_strdup_printf ("%s was stopped", program)
      : end->signal_number != 0
          ? g_strdup_printf ("%s was ended by signal %d (%s)", program,
                             end->signal_number, strsignal (end->signal_number))
      : is_memory ? g_strdup_printf ("%s died of memory of the GPU (status %d)", program,
                                     end->status)
      : end->status != 0
          ? g_strdup_printf ("%s ended with status %d", program, end->status)
          : g_strdup_printf ("%s ended", program);
  TesseraError error = { 0 };

  if (has_trace)
    tessera_fail (&error, TESSERA_INVALID,
                  "%s; what it did until then is in %s (tessera info %s)", how, shown,
                  shown);
  else if (end->was_stopped || has_failed)
    tessera_fail (&error, TESSERA_INVALID,
                  "%s before it allocated memory of the GPU: "
                  "nothing was recorded",
                  how);
  else
    tessera_fail (&error, TESSERA_INVALID,
                  "%s and allocated no memory of the GPU: nothing was recorded; does it "
                  "move its model to \"cuda\"?",
                  how);
  (void) cli_fail (&error);
  return is_memory                         ? CLI_DOES_NOT_FIT
         : has_failed && !end->was_stopped ? CLI_SCRIPT_FAILED
                                           : CLI_FAILED;
}

/* Processor seconds: other work on the machine does not lengthen them. */
typedef struct
{
  double trace; /* of the program and its children */
  double plan;
} Seconds;

static double
seconds_used (int whose)
{
  struct rusage used;
  getrusage (whose, &used);
  return (double) (used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
         (double) (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void
print_json (const CliRehearsal *run, const CliStudy *study, const Seconds *seconds)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  CliRecording recording;

  json_builder_begin_object (builder);
  cli_json_text (builder, "trace", run->trace_path);
  cli_json_text (builder, "plan", run->plan_path);
  cli_json_bytes (builder, "events", study->trace->n_events);
  cli_json_bytes (builder, "blocks", study->blocks->n_blocks);
  cli_json_bytes (builder, "steps", study->structure->n_steps);
  cli_json_bytes (builder, "height_bytes", study->plan->height_bytes);
  cli_json_number (builder, "trace_cpu_seconds", seconds->trace);
  cli_json_number (builder, "plan_cpu_seconds", seconds->plan);
  cli_recording (study, &recording);
  cli_recording_json (builder, &recording);
  cli_answer_json (builder, study, &run->question);
  json_builder_end_object (builder);
  cli_print_json (builder);
}

static void
print_text (const CliRehearsal *run, const CliStudy *study)
{
  CliRecording recording;

  puts ("");
  cli_answer_print (study, &run->question);
  puts ("");
  cli_recording (study, &recording);
  cli_recording_print (&recording);
  printf ("trace %s: %zu events, %zu blocks, %zu step%s\nplan  %s\n",
          cli_shown (run->trace_path), study->trace->n_events, study->blocks->n_blocks,
          study->structure->n_steps, study->structure->n_steps == 1 ? "" : "s",
          cli_shown (run->plan_path));
}

/* The trace studied, planned and answered from. */
static int
answer (const CliRehearsal *run)
{
  const CliCommon common = { .json = run->json, .device = -1 };
  const TesseraPlanOptions options = { .first_step = -1,
                                       .last_step = -1,
                                       .progress = cli_progress ("planning") };
  const TesseraLengthsOptions largest_seen = { 0 };
  Seconds seconds = { .trace = seconds_used (RUSAGE_CHILDREN) };
  CliStudy study;
  TesseraError error = { 0 };

  TesseraStatus status = cli_study_open (&study, run->trace_path, &common, &error);
  if (status == TESSERA_OK)
    status = cli_study_layout (&study, TESSERA_LAYOUT_RECORDED, &common, &error);
  seconds.plan = -seconds_used (RUSAGE_SELF);
  if (status == TESSERA_OK)
    status = cli_study_plan (&study, &options, &error);
  if (status == TESSERA_OK)
    status = cli_study_laws (&study, &largest_seen, &error);
  seconds.plan += seconds_used (RUSAGE_SELF);
  if (status == TESSERA_OK)
    status = cli_study_needs (&study, &error);
  if (status == TESSERA_OK)
    status = tessera_plan_save (study.plan, run->plan_path, &error);
  cli_progress_end ();
  int result = status != TESSERA_OK                         ? cli_fail (&error)
               : cli_answer_is_yes (&study, &run->question) ? CLI_DONE
                                                            : CLI_DOES_NOT_FIT;
  if (status == TESSERA_OK && study.structure->n_steps == 0)
    fputs ("tessera: no whole step was seen, so the answer is about the start only\n",
           stderr);
  if (status == TESSERA_OK && run->json)
    print_json (run, &study, &seconds);
  else if (status == TESSERA_OK)
    print_text (run, &study);
  cli_study_clear (&study);
  return result;
}

int
cli_rehearse (const CliRehearsal *run)
{
  g_auto (GStrv) env = NULL;
  CliJobEnd end;
  TesseraError error = { 0 };
  FileMark before = mark_file (run->trace_path);

  TesseraStatus status = cli_job_environ (&run->job, &env, &error);
  if (status == TESSERA_OK)
    status = cli_program_check (run->program, &error);
  if (status == TESSERA_OK)
    status = cli_job_wait (run->program, env, run->json, &end, &error);
  if (status != TESSERA_OK)
    return cli_fail (&error);
  FileMark after = mark_file (run->trace_path);
  gboolean has_trace = after.exists && !is_same_file (&before, &after);
  if (!has_trace || end.was_stopped || end.signal_number != 0 || end.status != 0)
    return tell_end (run, &end, has_trace);
  return answer (run);
}
