/*
 * What all subcommands share: options, sizes, sentences, progress, JSON.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/process.h"

static const CliCommand *command;
/* --device was not given: no number that a person may type. */
#define ANY_DEVICE G_MININT

static CliCommon *parsing; /* GOption's callbacks for sizes have no other way to it */

void
cli_set_command (const CliCommand *running)
{
  command = running;
}

static gboolean
parse_size_option (const char *name, const char *value, gpointer user, GError **error)
{
  guint64 bytes;
  if (!tessera_parse_bytes (value, &bytes))
    {
      g_set_error (error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
                   "%s takes bytes or a size like 40GiB, not \"%s\"", name, value);
      return FALSE;
    }
  if (g_str_equal (name, "--device-memory"))
    parsing->device_bytes = bytes;
  else
    parsing->limit_bytes = bytes;
  return TRUE;
}

static void
add_common (GOptionContext *context, CliCommon *common)
{
  const GOptionEntry entries[] = {
    { "json", 0, 0, G_OPTION_ARG_NONE, &common->json, "Print JSON", NULL },
    { "device", 0, 0, G_OPTION_ARG_INT, &common->device,
      "Which device of the file (default: the one with most events)", "N" },
    { "device-memory", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer) parse_size_option,
      "Memory of the device, which snapshots do not tell", "BYTES" },
    { "memory-limit", 0, 0, G_OPTION_ARG_CALLBACK, (gpointer) parse_size_option,
      "Limit set by set_per_process_memory_fraction", "BYTES" },
    { NULL }
  };
  common->device = ANY_DEVICE;
  parsing = common;
  g_option_context_add_main_entries (context, entries, NULL);
}

/* GOption leaves a "--" where it is if what follows begins with a dash. */
static void
drop_dashes (int *argc, char **argv)
{
  if (*argc < 2 || !g_str_equal (argv[1], "--"))
    return;
  for (int i = 1; i < *argc; i++)
    argv[i] = argv[i + 1];
  (*argc)--;
}

gboolean
cli_parse (const char *name,
           int *argc,
           char ***argv,
           GOptionEntry *entries,
           CliCommon *common,
           int min_files,
           int max_files)
{
  g_autofree char *program = g_strdup_printf ("tessera %s", name);
  g_autoptr (GOptionContext) context = g_option_context_new (command->synopsis);
  g_autoptr (GError) error = NULL;

  g_set_prgname (program);
  g_option_context_set_summary (context, command->help);
  /* A program's own options are not ours. */
  g_option_context_set_strict_posix (context, command->takes_program);
  if (entries != NULL)
    g_option_context_add_main_entries (context, entries, NULL);
  if (common != NULL)
    add_common (context, common);
  if (!g_option_context_parse (context, argc, argv, &error))
    {
      gboolean is_across = strstr (error->message, "--across-streams") != NULL;

      cli_usage (name, "%s",
                 is_across
                     ? "--across-streams is not there at present: plans keep streams "
                       "apart, and it comes back on another rule"
                     : error->message);
      return FALSE;
    }
  if (common != NULL && common->device != ANY_DEVICE && common->device < 0)
    {
      cli_usage (name, "--device takes a number, 0 or more");
      return FALSE;
    }
  if (common != NULL && common->device == ANY_DEVICE)
    common->device = -1;
  drop_dashes (argc, *argv);
  int n_files = *argc - 1;
  if (n_files < min_files || (max_files >= 0 && n_files > max_files))
    {
      cli_usage (name, "expected %s, got %d argument%s", command->synopsis, n_files,
                 n_files == 1 ? "" : "s");
      return FALSE;
    }
  return TRUE;
}

/* A step's number: digits only, below 2^53, as JSON carries it. */
static gboolean
parse_step (const char *text, const char **out_end, gint64 *out_step)
{
  char *end = NULL;
  if (!g_ascii_isdigit (*text))
    return FALSE;
  guint64 number = g_ascii_strtoull (text, &end, 10);
  *out_end = end;
  *out_step = (gint64) number;
  return number < (guint64) 1 << 53;
}

gboolean
cli_parse_steps (const char *text, gint64 *out_first, gint64 *out_last)
{
  const char *end;
  if (!parse_step (text, &end, out_first))
    return FALSE;
  *out_last = *out_first;
  if (*end == '\0')
    return TRUE;
  return *end == '-' && parse_step (end + 1, &end, out_last) && *end == '\0' &&
         *out_last >= *out_first;
}

const char *
cli_shown (const char *text)
{
  size_t n_shown = strlen (text) * TESSERA_SHOWN_BYTES + 1;
  g_autofree char *shown = g_malloc (n_shown);

  tessera_show_text (text, shown, n_shown);
  return strcmp (shown, text) == 0 ? text : g_intern_string (shown);
}

int
cli_fail (const TesseraError *error)
{
  cli_progress_end ();
  fprintf (stderr, "tessera: %s\n",
           error->text[0] != '\0' ? error->text : "out of memory");
  return CLI_FAILED;
}

int
cli_usage (const char *name, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  g_autofree char *text = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  fprintf (stderr, "tessera %s: %s (see tessera %s --help)\n", name, cli_shown (text),
           name);
  return CLI_USAGE;
}

static const char *progress_what;
static bool progress_shown;
static TesseraNews progress_news;
#define PROGRESS_WIDTH 78

/* "planning  34 %: 1.02 MiB, bound 963.00 KiB, searching exactly" */
static void
describe_progress (double fraction, char *text, size_t n_text)
{
  char height[32], bound[32];
  if (progress_news.height_bytes == 0)
    g_snprintf (text, n_text, "%s %3.0f %%", progress_what, fraction * 100);
  else
    g_snprintf (text, n_text, "%s %3.0f %%: %s, bound %s, %s", progress_what,
                fraction * 100,
                tessera_format_bytes (progress_news.height_bytes, height, sizeof height),
                tessera_format_bytes (progress_news.bound_bytes, bound, sizeof bound),
                progress_news.doing);
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
  return !cli_process_is_asked ();
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

void
cli_print_json (JsonBuilder *builder)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();
  g_autoptr (JsonNode) root = json_builder_get_root (builder);
  json_generator_set_pretty (generator, TRUE);
  json_generator_set_root (generator, root);
  g_autofree char *text = json_generator_to_data (generator, NULL);
  puts (text);
}

void
cli_json_bytes (JsonBuilder *builder, const char *key, guint64 bytes)
{
  json_builder_set_member_name (builder, key);
  if (bytes == G_MAXUINT64)
    json_builder_add_null_value (builder);
  else
    json_builder_add_int_value (builder, (gint64) bytes);
}

void
cli_json_text (JsonBuilder *builder, const char *key, const char *text)
{
  json_builder_set_member_name (builder, key);
  if (text == NULL)
    json_builder_add_null_value (builder);
  else if (g_utf8_validate (text, -1, NULL))
    json_builder_add_string_value (builder, text);
  else
    {
      g_autofree char *valid = g_utf8_make_valid (text, -1);
      json_builder_add_string_value (builder, valid);
    }
}

void
cli_json_bool (JsonBuilder *builder, const char *key, gboolean value)
{
  json_builder_set_member_name (builder, key);
  json_builder_add_boolean_value (builder, value);
}

void
cli_json_number (JsonBuilder *builder, const char *key, double value)
{
  json_builder_set_member_name (builder, key);
  json_builder_add_double_value (builder, value);
}
