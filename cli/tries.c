/* See tries.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tries.h"

#include <stdio.h>

#include "cli/trial.h"

typedef struct
{
  const char *change;              /* "fused+zero-grad" */
  const TesseraSuggestion *advice; /* NULL: it has none */
  const CliTrial *trial;
} Try;

typedef struct
{
  const CliRehearsal *run;
  CliTrials *trials;
  GArray *tries;       /* Try */
  const char *modules; /* that checkpointing is about; NULL: none are advised */
  guint n_started;
} Tries;

char **
cli_changes_read (const char *text)
{
  /* As trying.py knows them. */
  static const char *const known[] = { "fused",         "foreach-off", "zero-grad",
                                       "checkpointing", "8-bit",       "bf16-optimizer",
                                       CLI_SUGGESTED,   NULL };
  g_auto (GStrv) parts = g_strsplit_set (text, ",+", -1);

  for (char **part = parts; *part != NULL; part++)
    if (!g_strv_contains (known, *part))
      {
        g_autofree char *names = g_strjoinv (", ", (char **) known);
        cli_usage (
            "--try takes %s, and fused+zero-grad for two at once, not \"%s\": a smaller "
            "batch, a loss in parts and a del are for the script",
            names, *part);
      }
  return g_strsplit (text, ",", -1);
}

/* @change NULL: all that is advised and can be made. */
static void
add_tries (Tries *tries, const GArray *advice, const char *change)
{
  Try one = { .change = change };

  for (guint i = 0; i < advice->len; i++)
    {
      const TesseraSuggestion *row = &g_array_index (advice, TesseraSuggestion, i);
      const char *name = tessera_try_name (row->what);

      if (row->modules != NULL)
        tries->modules = row->modules;
      if (change != NULL && g_str_equal (name, change))
        one.advice = row;
      if (change != NULL || !tessera_try_is_from_outside (row->what))
        continue;
      const Try advised = { .change = name, .advice = row };
      g_array_append_val (tries->tries, advised);
    }
  if (change != NULL)
    g_array_append_val (tries->tries, one);
}

static gboolean
start_next (gpointer user)
{
  Tries *tries = user;
  CliRehearsal run = *tries->run;

  if (tries->n_started == tries->tries->len)
    return FALSE;
  Try *one = &g_array_index (tries->tries, Try, tries->n_started++);
  run.job.change = one->change;
  run.job.change_modules = tries->modules;
  one->trial = cli_trials_start (tries->trials, &run);
  return TRUE;
}

/* Why there are no figures; NULL: there are. To be freed. */
static char *
describe_failure (const Try *one)
{
  if (one->trial->is_unchanged)
    return g_strdup_printf ("not tried: %s", one->trial->remark);
  if (one->trial->state == CLI_TRIAL_MEASURED)
    return NULL;
  return g_strdup_printf ("%s: the script fails: %s", one->change,
                          one->trial->state == CLI_TRIAL_FAILED ? one->trial->remark
                                                                : "it dies of memory");
}

/* @json: as cli_try() has it. */
static void
add_row (CliTable *table, JsonBuilder *json, const Try *one, guint64 now_bytes)
{
  const CliTrial *trial = one->trial;
  g_autofree char *failure = describe_failure (one);
  g_autofree char *difference = g_strdup_printf (
      "%+.1f %%",
      100.0 * ((double) trial->live_bytes / (double) MAX (now_bytes, 1) - 1.0));

  cli_table_text (table, one->change);
  cli_table_integer (table, failure == NULL ? trial->live_bytes : G_MAXUINT64);
  for (guint i = 0; i < CLI_TRIAL_POLICIES; i++)
    cli_table_integer (table, failure == NULL ? trial->bytes[i] : G_MAXUINT64);
  cli_table_integer (table, one->advice != NULL ? one->advice->peak_bytes : G_MAXUINT64);
  cli_table_text (table, json != NULL || failure != NULL ? failure : difference);
  cli_table_end_row (table);
}

static void
keep (const Try *one, CliStudy *study)
{
  g_autofree char *failure = describe_failure (one);
  g_autofree char *key = g_strconcat (TESSERA_TRIED_KEY, one->change, NULL);
  g_autofree char *text = g_strdup_printf ("%" G_GUINT64_FORMAT, one->trial->live_bytes);

  if (failure == NULL && one->advice != NULL)
    cli_must (tessera_trace_set_meta (study->trace, key, text));
}

void
cli_try (JsonBuilder *json,
         const CliRehearsal *run,
         CliStudy *study,
         const TesseraWhose *whose)
{
  const char *const columns[] = { "change",
                                  "live_bytes",
                                  "native_bytes",
                                  "expandable_bytes",
                                  "plan_bytes",
                                  "predicted_live_bytes",
                                  json != NULL ? "remark" : "live changes by",
                                  NULL };
  const guint64 now_bytes = study->layout->peak_live_bytes;
  g_autoptr (GArray) advice = tessera_suggest (whose);
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Try));
  Tries tries = { .run = run, .trials = cli_trials_new (run->n_jobs), .tries = all };
  int lock;

  for (char **change = run->changes; *change != NULL; change++)
    add_tries (&tries, advice, g_str_equal (*change, CLI_SUGGESTED) ? NULL : *change);
  cli_trials_run (tries.trials, start_next, NULL, &tries);
  if (json == NULL)
    puts ("\ntried, each by a dry run of its own:");
  CliTable *table = cli_table_new_member (json, "tried", columns);
  cli_table_text (table, "as it is");
  CLI_INTEGERS (table, now_bytes, study->needs.native_bytes,
                study->needs.expandable_bytes, study->needs.plan_bytes, G_MAXUINT64);
  cli_table_text (table, NULL);
  cli_table_end_row (table);
  for (guint i = 0; i < all->len; i++)
    {
      add_row (table, json, &g_array_index (all, Try, i), now_bytes);
      keep (&g_array_index (all, Try, i), study);
    }
  cli_table_print (table);
  cli_must (tessera_file_lock (study->path, cli_error (), &lock));
  cli_must (tessera_trace_save_meta (study->trace, study->path, cli_error ()));
  tessera_file_unlock (lock);
  cli_trials_free (tries.trials);
}
