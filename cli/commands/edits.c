/* tessera edits list|add|apply|undo|redo|export FILE. SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/edit-add.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/study.h"
#include "db/output.h"
#include "db/store.h"
#include "edits/edits.h"
#include "planner/groups.h"

typedef struct
{
  const char *path; /* of the trace */
  TesseraHistory *history;
  CliCommon common;
  char *output;
  char *remark; /* (nullable): about what was added */
  gint times;
  CliEditWords words;
} Call;

static void
print_json (const Call *call)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (call->history, &n_edits);

  json_builder_begin_object (builder);
  cli_json_text (builder, "file", call->path);
  cli_json_bytes (builder, "standing", tessera_history_get_n_standing (call->history));
  if (call->remark != NULL)
    cli_json_text (builder, "note", call->remark);
  json_builder_set_member_name (builder, "edits");
  json_builder_begin_array (builder);
  for (size_t i = 0; i < n_edits; i++)
    {
      g_autofree char *text = tessera_edit_describe (&edits[i]);

      json_builder_begin_object (builder);
      cli_json_text (builder, "name", edits[i].name);
      cli_json_text (builder, "text", text);
      cli_json_bytes (builder, "created_s", (guint64) edits[i].created_s);
      cli_json_bool (builder, "is_undone", edits[i].is_undone);
      json_builder_end_object (builder);
    }
  json_builder_end_array (builder);
  json_builder_end_object (builder);
  cli_print_json (builder);
}

static void
print_list (const Call *call)
{
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (call->history, &n_edits);

  if (n_edits == 0)
    printf ("%s has no edits\n", cli_shown (call->path));
  for (size_t i = 0; i < n_edits; i++)
    {
      g_autofree char *text = tessera_edit_describe (&edits[i]);

      printf ("%3zu%s %s%s%s\n", i + 1, edits[i].is_undone ? " undone:" : "",
              cli_shown (text),
              *edits[i].name != '\0' && strcmp (edits[i].name, text) != 0 ? " - " : "",
              strcmp (edits[i].name, text) != 0 ? cli_shown (edits[i].name) : "");
    }
}

static TesseraStatus
list (Call *call, char **argv, TesseraError *error)
{
  return TESSERA_OK;
}

/* What is listed afterwards is what the file has then. */
static TesseraStatus
change (Call *call, TesseraHistoryChange how, void *user, TesseraError *error)
{
  TesseraHistory *changed = NULL;
  TesseraStatus status = tessera_history_change (call->path, how, user, error, &changed);

  if (status != TESSERA_OK)
    return status;
  tessera_history_free (call->history);
  call->history = changed;
  return TESSERA_OK;
}

static TesseraStatus
add_edit (TesseraHistory *history, void *edit, TesseraError *error)
{
  tessera_history_add (history, edit);
  return TESSERA_OK;
}

static TesseraStatus
add (Call *call, char **argv, TesseraError *error)
{
  TesseraEdit edit;
  TesseraStatus status = cli_edit_make (&call->words, call->path, &call->common, &edit,
                                        &call->remark, error);

  if (status != TESSERA_OK)
    return status;
  status = change (call, add_edit, &edit, error);
  tessera_edit_clear (&edit);
  return status;
}

/* Looks at the trace as well: edits of anything else would lie beside it for good. */
static TesseraStatus
find_blocks (Call *call, TesseraHistory *more, const char *name, TesseraError *error)
{
  CliStudy study;
  TesseraStatus status = cli_study_open (&study, call->path, &call->common, error);

  if (status == TESSERA_OK)
    status = tessera_history_find_blocks (more, name, study.trace, study.blocks,
                                          study.structure, error);
  cli_study_clear (&study);
  return status;
}

static TesseraStatus
add_standing (TesseraHistory *history, void *more, TesseraError *error)
{
  const TesseraEdit *edits = tessera_history_get (more, NULL);
  size_t n_standing = tessera_history_get_n_standing (more);

  for (size_t i = 0; i < n_standing; i++)
    {
      TesseraEdit edit;

      if (tessera_edit_copy (&edits[i], &edit) != TESSERA_OK)
        return tessera_fail (error, TESSERA_NO_MEMORY, "this machine has no memory left");
      tessera_history_add (history, &edit);
    }
  return TESSERA_OK;
}

static TesseraStatus
apply (Call *call, char **argv, TesseraError *error)
{
  g_autoptr (TesseraHistory) more = tessera_history_read (argv[3], error);
  TesseraStatus status;

  if (more == NULL)
    return error->status;
  status = find_blocks (call, more, argv[3], error);
  return status == TESSERA_OK ? change (call, add_standing, more, error) : status;
}

typedef struct
{
  const Call *call;
  gboolean (*move) (TesseraHistory *);
  const char *verb;
} Move;

static TesseraStatus
go (TesseraHistory *history, void *user, TesseraError *error)
{
  const Move *move = user;

  for (gint i = 0; i < move->call->times; i++)
    if (!move->move (history))
      return tessera_fail (error, TESSERA_INVALID, "%s has %s to %s", move->call->path,
                           i > 0 ? "no more edits" : "no edit", move->verb);
  return TESSERA_OK;
}

static TesseraStatus
undo (Call *call, char **argv, TesseraError *error)
{
  return change (call, go, &(Move){ call, tessera_history_undo, "undo" }, error);
}

static TesseraStatus
redo (Call *call, char **argv, TesseraError *error)
{
  return change (call, go, &(Move){ call, tessera_history_redo, "redo" }, error);
}

static TesseraStatus export(Call *call, char **argv, TesseraError *error)
{
  g_autofree char *text = tessera_history_to_json (call->history);

  if (call->output != NULL)
    return tessera_write_file (call->output, text, strlen (text), error);
  cli_process_print_data (text, strlen (text));
  return TESSERA_OK;
}

static const struct
{
  const char *name;
  TesseraStatus (*run) (Call *call, char **argv, TesseraError *error);
  int n_files;
  gboolean is_silent, brings_edits, looks_itself;
} verbs[] = {
  { "list", list, 1, FALSE, FALSE, FALSE }, { "add", add, 1, FALSE, TRUE, FALSE },
  { "apply", apply, 2, FALSE, TRUE, TRUE }, { "undo", undo, 1, FALSE, FALSE, FALSE },
  { "redo", redo, 1, FALSE, FALSE, FALSE }, { "export", export, 1, TRUE, FALSE, FALSE },
};

/* Edits of anything but a trace would lie beside it for good. */
static TesseraStatus
look_at_trace (const Call *call, TesseraError *error)
{
  CliStudy study;
  TesseraStatus status = cli_study_open (&study, call->path, &call->common, error);

  cli_study_clear (&study);
  return status;
}

static int
run_verb (Call *call, gsize verb, char **argv)
{
  TesseraError error = { 0 };
  TesseraStatus status;
  size_t n_edits;
  int result = cli_check_output ("edits", call->path, call->output);

  if (result != CLI_DONE)
    return result;
  if (access (call->path, F_OK) != 0)
    {
      int why = errno;

      tessera_fail (&error, TESSERA_IO, "%s cannot be opened: %s", call->path,
                    g_strerror (why));
      return cli_fail (&error);
    }
  call->history = tessera_history_load (call->path, &error);
  if (call->history == NULL)
    return cli_fail (&error);
  /* Where edits are kept already it was a trace; reading a large one takes seconds. */
  tessera_history_get (call->history, &n_edits);
  status = (n_edits == 0 || verbs[verb].brings_edits) && !verbs[verb].looks_itself
               ? look_at_trace (call, &error)
               : TESSERA_OK;
  if (status == TESSERA_OK)
    status = verbs[verb].run (call, argv, &error);
  if (status != TESSERA_OK)
    result = cli_fail (&error);
  else if (!verbs[verb].is_silent && call->common.json)
    print_json (call);
  else if (!verbs[verb].is_silent)
    print_list (call);
  if (status == TESSERA_OK && call->remark != NULL && !call->common.json)
    printf ("note: %s\n", cli_shown (call->remark));
  tessera_history_free (call->history);
  return result;
}

int
cli_edits (int argc, char **argv)
{
  Call call = { .times = 1 };
  CliEditWords *words = &call.words;
  GOptionEntry entries[] = {
    { "kind", 'k', 0, G_OPTION_ARG_STRING, &words->kind,
      "add: merge, split, group, move, pin, together, apart, dynamic, class or cap",
      "KIND" },
    { "what", 'w', 0, G_OPTION_ARG_STRING, &words->what,
      "add: the blocks it is about, as in \"size>=1MiB phase=backward\"", "QUERY" },
    { "with", 0, 0, G_OPTION_ARG_STRING, &words->with, "add: apart from these", "QUERY" },
    { "group", 'g', 0, G_OPTION_ARG_STRING, &words->group,
      "add: name of the group (merge, group, move)", "NAME" },
    { "at", 'a', 0, G_OPTION_ARG_STRING, &words->at,
      "add: pin: offset; cap: size of the pool; split: event", "SIZE" },
    { "by", 0, 0, G_OPTION_ARG_STRING, &words->by,
      "add: split by phase, size, module, step or at", "WHAT" },
    { "class", 0, 0, G_OPTION_ARG_STRING, &words->lifetime_class,
      "add: persistent, scoped, transient or dynamic", "CLASS" },
    { "shape", 0, 0, G_OPTION_ARG_FILENAME, &words->shape,
      "add: pin several with the distances that they have in this plan", "P.tsp" },
    { "name", 0, 0, G_OPTION_ARG_STRING, &words->name, "add: what to call it", "TEXT" },
    { "times", 'n', 0, G_OPTION_ARG_INT, &call.times, "undo, redo: so many", "N" },
    { "output", 'o', 0, G_OPTION_ARG_FILENAME, &call.output,
      "export: the file to write, else standard output", "OUT.json" },
    { NULL }
  };
  int result = CLI_USAGE;
  gsize verb = 0;

  if (!cli_parse ("edits", &argc, &argv, entries, &call.common, 2, 3))
    return CLI_USAGE;
  while (verb < G_N_ELEMENTS (verbs) && strcmp (argv[1], verbs[verb].name) != 0)
    verb++;
  if (verb == G_N_ELEMENTS (verbs))
    cli_usage ("edits", "there is no \"%s\": list, add, apply, undo, redo or export",
               argv[1]);
  else if (argc - 2 != verbs[verb].n_files)
    cli_usage ("edits", "%s takes %s", verbs[verb].name,
               verbs[verb].n_files == 2 ? "a trace and a file of edits" : "one trace");
  else if (call.times < 1)
    cli_usage ("edits", "--times takes a number from 1 on");
  else
    {
      call.path = argv[2];
      result = run_verb (&call, verb, argv);
    }
  cli_edit_words_clear (words);
  g_free (call.output);
  g_free (call.remark);
  return result;
}
