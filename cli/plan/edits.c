/*
 * tessera edits list|add|apply|undo|redo|export FILE.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/process.h"
#include "cli/tell.h"
#include "db/output.h"
#include "edits/edits.h"
#include "planner/groups.h"

/* As typed; each may be NULL. */
static struct
{
  char *kind, *what, *with, *group, *at, *by, *lifetime_class, *shape, *name;
} given;
static gint times = 1;

typedef struct
{
  const char *path; /* of the trace */
  TesseraHistory *history;
  char *remark;   /* (nullable): about what was added */
  CliStudy study; /* of study_of() */
} Call;

static void
tell (const Call *call)
{
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (call->history, &n_edits);

  if (n_edits == 0)
    cli_say ("%s has no edits\n", cli_shown (call->path));
  cli_member ("file", call->path);
  cli_member ("standing", tessera_history_get_n_standing (call->history));
  cli_array ("edits");
  for (size_t i = 0; i < n_edits; i++)
    {
      g_autofree char *text = tessera_edit_describe (&edits[i]);
      const char *name = strcmp (edits[i].name, text) != 0 ? edits[i].name : "";

      cli_say ("%3zu%s %s%s%s\n", i + 1, edits[i].is_undone ? " undone:" : "",
               cli_shown (text), *name != '\0' ? " - " : "", cli_shown (name));
      cli_object (NULL);
      cli_member ("name", edits[i].name);
      cli_member ("text", text);
      cli_member ("created_s", edits[i].created_s);
      cli_member_bool ("is_undone", edits[i].is_undone);
      cli_close ();
    }
  cli_close ();
  if (call->remark != NULL)
    {
      cli_say ("note: %s\n", cli_shown (call->remark));
      cli_member ("note", call->remark);
    }
}

/* The trace, opened once: edits of anything else would lie beside it for good. */
static const CliStudy *
study_of (Call *call)
{
  if (call->study.trace == NULL)
    cli_study_open (&call->study, call->path);
  return &call->study;
}

/* What is listed afterwards is what the file has then. */
static void
change (Call *call, TesseraHistoryChange how, void *user)
{
  TesseraHistory *changed = NULL;

  cli_must (tessera_history_change (call->path, how, user, cli_error (), &changed));
  tessera_history_free (call->history);
  call->history = changed;
}

static void
parse_query (const char *text, const char *option, TesseraSelector *selector)
{
  g_autofree char *finding = NULL;

  if (!tessera_query_parse (text != NULL ? text : "", selector, &finding))
    cli_fail_with ("--%s: %s", option, finding);
}

/* An option that a kind needs, or does not take. */
static void
expect (const TesseraEdit *edit,
        const char *option,
        const char *value,
        gboolean is_wanted)
{
  if (is_wanted != (value != NULL))
    cli_fail_with ("an edit of kind %s %s --%s", edits_get_name (EDITS_KINDS, edit->kind),
                   is_wanted ? "needs" : "does not take", option);
}

static void
read_kind (TesseraEdit *edit)
{
  TesseraEditKind kind =
      given.kind != NULL ? (TesseraEditKind) edits_find_number (EDITS_KINDS, given.kind)
                         : 0;
  gboolean has_at = kind == TESSERA_EDIT_PIN || kind == TESSERA_EDIT_CAP ||
                    (kind == TESSERA_EDIT_SPLIT && g_strcmp0 (given.by, "at") == 0);

  if (kind == 0)
    cli_fail_with ("--kind takes merge, split, group, move, pin, together, apart, "
                   "dynamic, class or cap%s%s",
                   given.kind != NULL ? ", not " : "",
                   given.kind != NULL ? given.kind : "");
  edit->kind = kind;
  expect (edit, "group", given.group,
          kind == TESSERA_EDIT_MERGE || kind == TESSERA_EDIT_GROUP ||
              kind == TESSERA_EDIT_MOVE);
  expect (edit, "at", given.at, has_at);
  expect (edit, "by", given.by, kind == TESSERA_EDIT_SPLIT);
  expect (edit, "class", given.lifetime_class, kind == TESSERA_EDIT_CLASS);
  if (kind != TESSERA_EDIT_APART)
    expect (edit, "with", given.with, FALSE);
  if (kind != TESSERA_EDIT_PIN)
    expect (edit, "shape", given.shape, FALSE);
  if (kind == TESSERA_EDIT_CAP)
    expect (edit, "what", given.what, FALSE);
}

static void
read_rest (TesseraEdit *edit)
{
  guint64 at = 0;

  parse_query (given.what, "what", &edit->what);
  parse_query (given.with, "with", &edit->with);
  if (given.at != NULL && !tessera_parse_bytes (given.at, &at))
    cli_fail_with ("--at takes a size or a number, not %s", given.at);
  edit->at = at;
  if (given.by != NULL &&
      (edit->by = (TesseraSplitBy) edits_find_number (EDITS_SPLITS, given.by)) == 0)
    cli_fail_with ("--by takes phase, size, module, step or at, not %s", given.by);
  if (given.lifetime_class != NULL && (edit->lifetime_class = (guint8) edits_find_number (
                                           EDITS_CLASSES, given.lifetime_class)) == 0)
    cli_fail_with ("--class takes persistent, scoped, transient or dynamic, not %s",
                   given.lifetime_class);
  edit->group = g_strdup (given.group);
  edit->has_with = given.with != NULL;
  edit->created_s = g_get_real_time () / G_USEC_PER_SEC;
}

/* One byte a block: those that the edit is about, which are some. */
static guint8 *
select_blocks (const CliStudy *study, const TesseraEdit *edit)
{
  TesseraBlocks *blocks = study->blocks;
  guint8 *selected = g_new0 (guint8, blocks->n_blocks + 1);
  TesseraGroup *groups = NULL;
  size_t n_groups = 0;

  tessera_group_blocks (study->trace, blocks, study->structure, &groups, &n_groups);
  tessera_select (&edit->what, study->trace, blocks, study->structure, groups, n_groups,
                  selected);
  tessera_groups_free (groups, n_groups);
  if (memchr (selected, 1, blocks->n_blocks) == NULL)
    cli_fail_with ("no block of %s is \"%s\"", study->path,
                   given.what != NULL ? given.what : "");
  return selected;
}

/* The blocks that are selected and have a slot in the plan, with their distances there.
 */
static void
take_shape (const CliStudy *study, const guint8 *selected, TesseraEdit *edit)
{
  size_t n_blocks = study->blocks->n_blocks, n = 0;
  g_autofree guint64 *offsets = g_new0 (guint64, n_blocks + 1);
  guint64 lowest = G_MAXUINT64;
  g_autoptr (TesseraPlan) plan = cli_load_plan (given.shape);

  if (plan->trace_fingerprint != tessera_trace_fingerprint (study->trace))
    cli_fail_with ("%s was made from another trace: take a plan of %s", given.shape,
                   study->path);
  for (size_t i = 0; i < plan->n_slots; i++)
    {
      const TesseraSlot *slot = &plan->slots[i];

      if ((slot->ordinal == TESSERA_NONE && slot->born != 0) || slot->block >= n_blocks ||
          !selected[slot->block])
        continue;
      offsets[slot->block] = slot->offset_bytes + 1; /* 0: none */
      lowest = MIN (lowest, slot->offset_bytes);
    }
  tessera_selector_clear (&edit->what);
  edit->what.blocks = g_new0 (guint32, n_blocks + 1);
  edit->shape = g_new0 (guint64, n_blocks + 1);
  for (guint32 i = 0; i < n_blocks; i++)
    if (offsets[i] > 0)
      {
        edit->what.blocks[n] = i;
        edit->shape[n++] = offsets[i] - 1 - lowest;
      }
  edit->what.n_blocks = n;
  if (n == 0)
    cli_fail_with (
        "%s has no slot of these blocks: --shape takes a plan that places them",
        given.shape);
}

/* What has no slot can neither be held nor left out. */
static void
check_reach (Call *call,
             const CliStudy *study,
             const guint8 *selected,
             const TesseraEdit *edit)
{
  TesseraEditReach reach;

  if (tessera_edit_is_of_groups (edit))
    return;
  reach = tessera_edit_reach (study->trace, study->blocks, study->structure, selected);
  if (reach.n_dynamic > 0 && reach.n_placed == 0)
    cli_fail_with ("an edit of kind %s can't hold here: %s",
                   edits_get_name (EDITS_KINDS, edit->kind), TESSERA_ALL_DYNAMIC);
  if (reach.n_dynamic > 0)
    call->remark =
        g_strdup_printf ("%zu of the %zu blocks that this is about differ from step to "
                         "step: they have no slot, and go to rooms as before",
                         reach.n_dynamic, reach.n_dynamic + reach.n_placed);
}

static TesseraStatus
add_edit (TesseraHistory *history, void *edit, TesseraError *error)
{
  tessera_history_add (history, edit);
  return TESSERA_OK;
}

/* An edit that is about no block is refused (unless it goes by a group, which other edits
 * may have made), and so is an edit of places that is about dynamic requests only. */
static void
add (Call *call, const char *unused)
{
  TesseraEdit edit = { 0 };
  const CliStudy *study = study_of (call);

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  read_kind (&edit);
  read_rest (&edit);
  if (edit.kind != TESSERA_EDIT_CAP && (edit.what.group == NULL || given.shape != NULL))
    {
      g_autofree guint8 *selected = select_blocks (study, &edit);
      check_reach (call, study, selected, &edit);
      if (given.shape != NULL)
        take_shape (study, selected, &edit);
      tessera_edits_name_blocks (study->trace, study->blocks, study->structure, &edit, 1);
    }
  edit.name = given.name != NULL ? g_strdup (given.name) : tessera_edit_describe (&edit);
  change (call, add_edit, &edit);
  tessera_edit_clear (&edit);
}

static TesseraStatus
add_standing (TesseraHistory *history, void *more, TesseraError *error)
{
  tessera_history_add_standing (history, more, 0);
  return TESSERA_OK;
}

static void
apply (Call *call, const char *from)
{
  TesseraError *error = cli_error ();
  g_autoptr (TesseraHistory) more = tessera_history_read (from, error);

  if (more == NULL)
    cli_fail (error);
  const CliStudy *study = study_of (call);
  cli_must (tessera_history_find_blocks (more, from, study->trace, study->blocks,
                                         study->structure, cli_error ()));
  change (call, add_standing, more);
}

typedef struct
{
  const char *path;
  gboolean (*move) (TesseraHistory *);
  const char *verb;
} Move;

static TesseraStatus
go (TesseraHistory *history, void *user, TesseraError *error)
{
  const Move *move = user;

  for (gint i = 0; i < times; i++)
    if (!move->move (history))
      return tessera_fail (error, TESSERA_INVALID, "%s has %s to %s", move->path,
                           i > 0 ? "no more edits" : "no edit", move->verb);
  return TESSERA_OK;
}

static void
write_json (Call *call, const char *unused)
{
  g_autofree char *text = tessera_history_to_json (call->history);

  if (cli_given.output != NULL)
    cli_must (tessera_write_file (cli_given.output, text, strlen (text), cli_error ()));
  else
    cli_process_print_data (text, strlen (text));
}

static const struct
{
  const char *name;
  int n_files;
  void (*run) (Call *call, const char *file); /* NULL: nothing to do but to list */
  gboolean (*move) (TesseraHistory *history);
  gboolean is_silent;
} verbs[] = {
  { "list", 1 },
  { "add", 1, .run = add },
  { "apply", 2, .run = apply },
  { "undo", 1, .move = tessera_history_undo },
  { "redo", 1, .move = tessera_history_redo },
  { "export", 1, .run = write_json, .is_silent = TRUE },
};

static void
run_verb (Call *call, gsize verb, const char *file)
{
  TesseraError *error = cli_error ();
  size_t n_edits;

  if (cli_given.output != NULL)
    cli_check_output (call->path, cli_given.output, 0);
  if (access (call->path, F_OK) != 0)
    cli_fail_with ("%s cannot be opened: %s", call->path, g_strerror (errno));
  call->history = tessera_history_load (call->path, error);
  if (call->history == NULL)
    cli_fail (error);
  /* Where edits are kept already it was a trace; reading a large one takes seconds. */
  tessera_history_get (call->history, &n_edits);
  if (n_edits == 0)
    study_of (call);
  if (verbs[verb].run != NULL)
    verbs[verb].run (call, file);
  if (verbs[verb].move != NULL)
    change (call, go, &(Move){ call->path, verbs[verb].move, verbs[verb].name });
  if (!verbs[verb].is_silent)
    tell (call);
}

static int
run_edits (int n_files, char **files)
{
  Call call = { .path = files[1] };
  gsize verb = 0;

  while (verb < G_N_ELEMENTS (verbs) && strcmp (files[0], verbs[verb].name) != 0)
    verb++;
  if (verb == G_N_ELEMENTS (verbs))
    cli_usage ("there is no \"%s\": list, add, apply, undo, redo or export", files[0]);
  if (n_files - 1 != verbs[verb].n_files)
    cli_usage ("%s takes %s", verbs[verb].name,
               verbs[verb].n_files == 2 ? "a trace and a file of edits" : "one trace");
  cli_read_least ("--times", times, 1, "a number");
  run_verb (&call, verb, files[2]);
  tessera_history_free (call.history);
  g_free (call.remark);
  cli_study_clear (&call.study);
  return CLI_DONE;
}

static const GOptionEntry edits_options[] = {
  { "kind", 'k', 0, G_OPTION_ARG_STRING, &given.kind,
    "add: merge, split, group, move, pin, together, apart, dynamic, class or cap",
    "KIND" },
  { "what", 'w', 0, G_OPTION_ARG_STRING, &given.what,
    "add: the blocks it is about, as in \"size>=1MiB phase=backward\"", "QUERY" },
  { CLI_OPTION ("with", STRING, &given.with), "add: apart from these", "QUERY" },
  { "group", 'g', 0, G_OPTION_ARG_STRING, &given.group,
    "add: name of the group (merge, group, move)", "NAME" },
  { "at", 'a', 0, G_OPTION_ARG_STRING, &given.at,
    "add: pin: offset; cap: size of the pool; split: event", "SIZE" },
  { CLI_OPTION ("by", STRING, &given.by), "add: split by phase, size, module, step or at",
    "WHAT" },
  { CLI_OPTION ("class", STRING, &given.lifetime_class),
    "add: persistent, scoped, transient or dynamic", "CLASS" },
  { CLI_OPTION ("shape", FILENAME, &given.shape),
    "add: pin several with the distances that they have in this plan", "P.tsp" },
  { CLI_OPTION ("name", STRING, &given.name), "add: what to call it", "TEXT" },
  { "times", 'n', 0, G_OPTION_ARG_INT, &times, "undo, redo: so many", "N" },
  CLI_OPTION_OUTPUT ("export: the file to write, else standard output", "OUT.json"),
  { NULL }
};

const CliCommand cli_edits = {
  .name = "edits",
  .synopsis = "list|add|apply|undo|redo|export FILE",
  .summary = "what you changed about groups and places: listed, added, undone",
  .help = "Edits are kept in a .tsr itself, beside any other trace in FILE.edits.json.\n "
          " tessera edits add FILE --kind pin --what \"class=persistent size>=1MiB\" "
          "--at 0 --shape P.tsp\n  tessera edits add FILE --kind cap --at 30GiB\n  "
          "tessera edits apply FILE EDITS.json     adds those of a file: JSON, or what a "
          ".tsp or\n                                          another .tsr was edited "
          "with\nA query is conditions that all have to hold: size>=1MiB phase=backward "
          "died=optimizer\nmodule=*mlp* source=train.py:12 group=\"...\" class=transient "
          "life<100 step=3 stream=1\nordinal=0 alive=12345 blocks=3,7-9. docs/FORMAT.md "
          "describes the JSON.\nSizes, here and everywhere: 24GB is 24 x 10^9 bytes, "
          "24GiB is 24 x 2^30.",
  .takes = CLI_READS_TRACE,
  .n_least = 2,
  .n_most = 3,
  .options = edits_options,
  .run = run_edits,
};
