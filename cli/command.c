/* See command.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>

#include "cli/print.h"
#include "cli/process.h"
#include "db/output.h"

/* As JSON carries it. */
#define MOST_NUMBER (((guint64) 1 << 53) - 1)
/* --device was not given: no number that a person may type. */
#define ANY_DEVICE G_MININT

static const CliCommand *command; /* that runs */
CliGiven cli_given = { .device = -1 };

void
cli_usage (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  fprintf (stderr, "tessera %s: %s (see tessera %s --help)\n", command->name,
           cli_shown (text), command->name);
  g_free (text);
  exit (CLI_USAGE);
}

static void
complain (const char *format, va_list arguments)
{
  g_autofree char *text = g_strdup_vprintf (format, arguments);

  cli_progress_end ();
  fprintf (stderr, "tessera: %s\n", cli_shown (text));
}

void
cli_complain (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  complain (format, arguments);
  va_end (arguments);
}

void
cli_fail (const TesseraError *error)
{
  cli_fail_with ("%s", error->text[0] != '\0' ? error->text : "out of memory");
}

void
cli_fail_with (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  complain (format, arguments);
  va_end (arguments);
  exit (CLI_FAILED);
}

static TesseraError last_error;

TesseraError *
cli_error (void)
{
  last_error = (TesseraError){ 0 };
  return &last_error;
}

void
cli_must (TesseraStatus status)
{
  if (status != TESSERA_OK)
    cli_fail (&last_error);
}

void
cli_must_of (const char *path, TesseraStatus status)
{
  g_autofree char *base = g_path_get_basename (path);

  if (status == TESSERA_OK)
    return;
  if (strstr (last_error.text, base) != NULL)
    cli_fail (&last_error);
  cli_fail_with ("%s: %s", path,
                 last_error.text[0] != '\0' ? last_error.text : "not enough memory");
}

void
cli_read_size (const char *option, const char *text, guint64 *bytes)
{
  if (text != NULL && !tessera_parse_bytes (text, bytes))
    cli_usage ("%s takes bytes or a size like 40GiB, not \"%s\"", option, text);
}

void
cli_read_least (const char *option, gint64 value, gint64 least, const char *what)
{
  if (value < least)
    cli_usage ("%s takes %s, %" G_GINT64_FORMAT " or more", option, what, least);
}

gboolean
cli_read_range (const char *text,
                const char *between,
                guint64 *out_first,
                guint64 *out_last)
{
  g_auto (GStrv) ends = g_strsplit (text, between, 2);

  if (ends[0] == NULL ||
      !g_ascii_string_to_unsigned (ends[0], 10, 0, MOST_NUMBER, out_first, NULL))
    return FALSE;
  *out_last = *out_first;
  return ends[1] == NULL || g_ascii_string_to_unsigned (ends[1], 10, *out_first,
                                                        MOST_NUMBER, out_last, NULL);
}

gboolean
cli_read_steps (const char *text, gint64 *out_first, gint64 *out_last)
{
  guint64 first, last;
  const gboolean is_range = cli_read_range (text, "-", &first, &last);

  *out_first = is_range ? (gint64) first : -1;
  *out_last = is_range ? (gint64) last : -1;
  return is_range;
}

int
cli_choose (const char *text, const char *const *names)
{
  for (int i = 0; names[i] != NULL; i++)
    if (text == NULL || g_str_equal (text, names[i]))
      return i;
  return -1;
}

const char *
cli_shown (const char *text)
{
  size_t n_shown = strlen (text) * TESSERA_SHOWN_BYTES + 1;
  g_autofree char *shown = g_malloc (n_shown);

  tessera_show_text (text, shown, n_shown);
  return strcmp (shown, text) == 0 ? text : g_intern_string (shown);
}

static char *device_text, *limit_text;

static const GOptionEntry trace_options[] = {
  { CLI_OPTION ("json", NONE, &cli_given.json), "Print JSON" },
  { CLI_OPTION ("device", INT, &cli_given.device),
    "Which device of the file (default: the one with most events)", "N" },
  { CLI_OPTION ("device-memory", STRING, &device_text),
    "Memory of the device, which snapshots do not tell", "BYTES" },
  { CLI_OPTION ("memory-limit", STRING, &limit_text),
    "Limit set by set_per_process_memory_fraction", "BYTES" },
  { NULL }
};

static const GOptionEntry streams_options[] = {
  { CLI_OPTION ("across-streams", NONE, &cli_given.across_streams),
    "Plan one pool over all streams; a run orders each hand-over by a barrier (default "
    "where a dry run saw that the program allows it)" },
  { CLI_OPTION ("streams-apart", NONE, &cli_given.streams_apart),
    "Plan a place of its own for each stream (default else)" },
  { NULL }
};

static void
parse (int *argc, char ***argv)
{
  g_autofree char *program = g_strdup_printf ("tessera %s", command->name);
  g_autoptr (GOptionContext) context = g_option_context_new (command->synopsis);
  g_autoptr (GError) error = NULL;

  g_set_prgname (program);
  g_option_context_set_summary (context, command->help);
  /* A program's own options are not ours. */
  g_option_context_set_strict_posix (context, (command->takes & CLI_RUNS_PROGRAM) != 0);
  if (command->options != NULL)
    g_option_context_add_main_entries (context, command->options, NULL);
  if (command->takes & CLI_READS_TRACE)
    g_option_context_add_main_entries (context, trace_options, NULL);
  if (command->takes & CLI_PLANS)
    g_option_context_add_main_entries (context, streams_options, NULL);
  cli_given.device = ANY_DEVICE;
  if (!g_option_context_parse (context, argc, argv, &error))
    cli_usage ("%s", error->message);
  if (cli_given.across_streams && cli_given.streams_apart)
    cli_usage ("--across-streams and --streams-apart exclude each other");
  /* GOption leaves a "--" where it is if what follows begins with a dash. */
  if (*argc > 1 && g_str_equal ((*argv)[1], "--"))
    {
      (*argc)--;
      (*argv)++;
    }
}

static void
check_given (int n_files)
{
  if (cli_given.device != ANY_DEVICE && cli_given.device < 0)
    cli_usage ("--device takes a number, 0 or more");
  if (cli_given.device == ANY_DEVICE)
    cli_given.device = -1;
  cli_read_size ("--device-memory", device_text, &cli_given.device_bytes);
  cli_read_size ("--memory-limit", limit_text, &cli_given.limit_bytes);
  if (n_files < command->n_least ||
      (command->n_most >= 0 && n_files > MAX (command->n_most, 1)))
    cli_usage ("expected %s, got %d argument%s", command->synopsis, n_files,
               n_files == 1 ? "" : "s");
  if (cli_given.edits_path != NULL && cli_given.no_edits)
    cli_usage ("--edits and --no-edits can't be had together");
}

int
cli_start (const CliCommand *started, int argc, char **argv)
{
  const unsigned writes = CLI_WRITES_TRACE | CLI_WRITES_PLAN | CLI_WRITES_OTHER;

  command = started;
  parse (&argc, &argv);
  check_given (argc - 1);
  if ((command->takes & CLI_NEEDS_OUTPUT) && cli_given.output == NULL)
    cli_usage ("say where to write with %s", strstr (command->synopsis, "-o "));
  if (cli_given.output != NULL && (command->takes & writes))
    cli_check_output (argv[1], cli_given.output, command->takes & writes);
  const int status = command->run (argc - 1, argv + 1);
  cli_answer_end ();
  return status;
}

static const char *progress_what;
static bool progress_shown;
static TesseraNews progress_news;
#define PROGRESS_WIDTH 78

/* "planning  34 %: 1.02 MiB, bound 963.00 KiB, searching exactly" */
static void
describe_progress (double fraction, char *text, size_t n_text)
{
  if (progress_news.height_bytes == 0)
    g_snprintf (text, n_text, "%s %3.0f %%", progress_what, fraction * 100);
  else
    g_snprintf (text, n_text, "%s %3.0f %%: %s, bound %s, %s", progress_what,
                fraction * 100, TESSERA_SIZE (progress_news.height_bytes),
                TESSERA_SIZE (progress_news.bound_bytes), progress_news.doing);
}

static bool
show_progress (void *user, double fraction)
{
  if (isatty (STDERR_FILENO))
    {
      char text[PROGRESS_WIDTH + 1];
      describe_progress (fraction, text, sizeof text);
      fprintf (stderr, "\r%-*s", PROGRESS_WIDTH, text);
      fflush (stderr);
      progress_shown = true;
    }
  return cli_process_asked_by () == 0;
}

const TesseraProgress *
cli_progress (const char *what)
{
  static const TesseraProgress progress = { show_progress, NULL };
  progress_what = what;
  progress_news = (TesseraNews){ 0 };
  return &progress;
}

void
cli_progress_end (void)
{
  if (progress_shown)
    fprintf (stderr, "\r%*s\r", PROGRESS_WIDTH, "");
  progress_shown = false;
}

static void
take_news (void *user, const TesseraNews *news)
{
  progress_news = *news;
}

const TesseraListener *
cli_listener (void)
{
  static const TesseraListener listener = { take_news, NULL };
  return &listener;
}

G_NORETURN static void
cannot_write (const char *output, const char *why)
{
  g_autofree char *shown = g_filename_display_name (output);
  cli_fail_with ("%s cannot be written: %s", shown, why);
}

/* What lies at @output and may not be replaced, or NULL. */
static const char *
what_would_be_lost (const char *output, unsigned writes)
{
  TesseraFileKind there = tessera_file_kind (output);

  return (writes & CLI_WRITES_TRACE) && there != TESSERA_FILE_TRACE
             ? "a file that is no trace"
         : (writes & CLI_WRITES_PLAN) && there != TESSERA_FILE_PLAN
             ? "a file that is no plan"
         : (writes & CLI_WRITES_OTHER) && there != TESSERA_FILE_OTHER ? "a trace or plan"
                                                                      : NULL;
}

void
cli_check_output (const char *input, const char *output, unsigned writes)
{
  struct stat in, out;

  if (*output == '\0')
    cli_usage ("-o takes the name of a file, not an empty one");
  int failure = tessera_output_check (output);
  int descriptor = tessera_output_descriptor (output);
  if (failure == EISDIR)
    cannot_write (output, "it is a folder; name a file in it");
  if (failure != 0)
    cannot_write (output, g_strerror (failure));
  if (descriptor == STDOUT_FILENO)
    cli_process_print_to_stderr ();
  if (stat (output, &out) != 0 || !S_ISREG (out.st_mode) || descriptor >= 0)
    return;
  if (input != NULL && stat (input, &in) == 0 && in.st_dev == out.st_dev &&
      in.st_ino == out.st_ino)
    cli_usage ("-o names the file that is read: choose another one");
  const char *lost =
      cli_given.force || out.st_size == 0 ? NULL : what_would_be_lost (output, writes);
  if (lost == NULL)
    return;
  g_autofree char *why = g_strdup_printf (
      "%s would be lost; name another one, or overwrite it with --force", lost);
  cannot_write (output, why);
}

void
cli_check_recording (const char *input, const char *output)
{
  struct stat there;

  if (stat (output, &there) == 0 && !S_ISREG (there.st_mode) && !S_ISDIR (there.st_mode))
    cannot_write (output, "it is a device or pipe; name a file");
  cli_check_output (input, output, CLI_WRITES_TRACE);
}
