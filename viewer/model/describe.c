/*
 * Words for what is drawn; what is selected, as text; what can be done to the plan by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/command.h"
#include "db/plan.h"
#include "db/size-text.h"
#include "picture/colour.h"
#include "picture/figure.h"
#include "planner/modules.h"

#include <math.h>
#include <string.h>

/* "40.00 GiB" -> "40 GiB". Takes @text over. */
static char *
without_idle_decimals (char *text)
{
  GString *shorter = g_string_new (text);

  g_free (text);
  g_string_replace (shorter, ".00 ", " ", 1);
  g_string_replace (shorter, ".0 ", " ", 1);
  return g_string_free (shorter, FALSE);
}

char *
tessera_describe_height (uint64_t bytes, double step_bytes)
{
  const TesseraSizeUnit *unit = tessera_size_unit ((double) bytes, 1);
  int decimals = (int) ceil (log10 (unit->bytes / MAX (step_bytes, 1)));

  if (decimals <= 2)
    return without_idle_decimals (g_strdup (TESSERA_SIZE (bytes)));
  return g_strdup_printf ("%.*f %s", decimals, (double) bytes / unit->bytes, unit->name);
}

char *
tessera_format_counted (uint64_t count, const char *noun, char text[64])
{
  g_snprintf (text, 64, "%s %s%s", TESSERA_COUNT (count), noun, count == 1 ? "" : "s");
  return text;
}

uint64_t
tessera_document_bound (TesseraDocument *document)
{
  const TesseraFollowed *planned = document->planned;
  bool is_full = planned != NULL && !planned->request.is_preview;

  return tessera_plan_shown_bound (is_full ? planned->plan : NULL,
                                   document->data != NULL ? document->data->bound_bytes
                                                          : 0,
                                   tessera_needs_pytorch (&document->needs));
}

char *
tessera_describe_gap (const TesseraPlan *plan, uint64_t bound_bytes)
{
  /* What edits force is a cost: "optimal" is not said of that alone. */
  bool is_forced =
      plan->n_edits > 0 && tessera_plan_proven_bound (plan) > plan->bound_bytes;
  bool is_own = is_forced || tessera_plan_proven_bound (plan) > bound_bytes;

  if (tessera_plan_is_optimal (plan))
    return g_strdup (is_forced ? "by edits" : is_own ? "= proven bound" : "= bound");
  /* Never rounded down to nothing. */
  return g_strdup_printf ("%.2f %% over %s", MAX (100 * tessera_plan_gap (plan), 0.01),
                          is_own ? "proven" : "bound");
}

char *
tessera_describe_above (const TesseraFollowed *planned, uint64_t bound_bytes)
{
  const double over =
      100 * ((double) planned->height_bytes / (double) MAX (planned->bound_bytes, 1) - 1);

  if (planned->length == 0)
    return tessera_describe_gap (planned->plan, bound_bytes);
  return planned->height_bytes <= planned->bound_bytes
             ? g_strdup ("= bound")
             : g_strdup_printf ("%.2f %% over bound", MAX (over, 0.01));
}

char *
tessera_describe_news (const TesseraNews *news)
{
  TesseraPlan plan = { .height_bytes = news->height_bytes,
                       .bound_bytes = news->bound_bytes };
  const char *height = TESSERA_SIZE (news->height_bytes);

  if (news->height_bytes == 0)
    return NULL;
  if (tessera_plan_is_optimal (&plan))
    return g_strdup_printf ("%s so far, the bound", height);
  return g_strdup_printf ("%s so far, bound %s (+%.2f %%)", height,
                          TESSERA_SIZE (news->bound_bytes),
                          MAX (100 * tessera_plan_gap (&plan), 0.01));
}

char *
tessera_describe_duration (int64_t ns)
{
  double at = (double) ns;

  if (ns < 0)
    return g_strdup ("unknown");
  if (ns == 0)
    return g_strdup ("0 s");
  if (ns < 1000)
    return g_strdup_printf ("%d ns", (int) ns);
  if (ns < 1000000)
    return without_idle_decimals (g_strdup_printf ("%.1f µs", at / 1e3));
  if (ns < 1000000000)
    return without_idle_decimals (g_strdup_printf ("%.2f ms", at / 1e6));
  return without_idle_decimals (g_strdup_printf ("%.2f s", at / 1e9));
}

const char *
tessera_class_name (uint8_t lifetime_class)
{
  const char *name = edits_get_name (EDITS_CLASSES, lifetime_class);

  return name != NULL ? name : "";
}

const char *
tessera_layout_kind_name (TesseraLayoutKind kind)
{
  static const char *const names[] = { "as recorded", "native, simulated",
                                       "expandable, simulated", "plan" };

  return kind < G_N_ELEMENTS (names) ? names[kind] : "";
}

char *
tessera_describe_moment (TesseraData *data, uint32_t event_index)
{
  g_autofree char *name = tessera_name_moment (&data->whose, event_index);

  return g_strdup (cli_shown (name));
}

/* Where no step or phase is known, its number. */
static char *
describe_event (TesseraData *data, uint32_t event_index)
{
  char *moment = tessera_describe_moment (data, event_index);

  if (*moment != '\0')
    return moment;
  g_free (moment);
  return g_strdup_printf ("event %u", event_index);
}

char *
tessera_describe_birth (TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  return b->flags & (TESSERA_AT_START | TESSERA_UNKNOWN_START)
             ? g_strdup ("before the trace began")
             : describe_event (data, b->born_index);
}

static char *
describe_death (TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  if (b->flags & TESSERA_FAILED)
    return g_strdup ("never born: the request failed");
  return b->died_index >= data->blocks->n_events ? g_strdup ("alive at the end")
                                                 : describe_event (data, b->died_index);
}

/* "7 events, 1.2 ms" */
static char *
describe_events (const TesseraData *data, uint32_t begin, uint32_t end)
{
  const TesseraTrace *trace = data->trace;
  const char *events = TESSERA_COUNTED (end - begin, "event");

  if (trace->has_time && end > begin && end < trace->n_events)
    {
      g_autofree char *time = tessera_describe_duration (trace->events[end].at_ns -
                                                         trace->events[begin].at_ns);

      return g_strdup_printf ("%s, %s", events, time);
    }
  return g_strdup (events);
}

char *
tessera_describe_life (TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  return describe_events (data, b->born_index,
                          MIN (b->died_index, data->blocks->n_events));
}

/* Where the plan's pool that holds an address begins; TESSERA_NOWHERE: none does. */
static uint64_t
pool_begin (const TesseraLayout *layout, uint64_t addr)
{
  for (size_t i = 0; i < layout->n_spans; i++)
    {
      const TesseraSpan *span = &layout->spans[i];

      if (span->is_plan_pool && addr >= span->addr &&
          addr - span->addr < span->size_bytes)
        return layout->pool_addr;
    }
  return TESSERA_NOWHERE;
}

char *
tessera_describe_place (const TesseraSheet *sheet, uint32_t block)
{
  const TesseraLayout *layout = sheet->layout;
  const TesseraBlock *b = &sheet->data->blocks->blocks[block];
  uint64_t addr = layout->addr[block], begin;

  if (addr == TESSERA_NOWHERE)
    return g_strdup ("nowhere: the request failed");
  begin = pool_begin (layout, addr);
  if (sheet->planned == NULL && begin == TESSERA_NOWHERE)
    return g_strdup_printf (
        "0x%" G_GINT64_MODIFIER "x%s", addr,
        layout->pool_bytes == 0 || !tessera_pool_was_missed (sheet->data->pool, b) ? ""
        : layout->is_left[block] ? ", left to the dynamic allocator"
                                 : ", missed the plan");
  if (begin == TESSERA_NOWHERE)
    return g_strdup_printf ("0x%" G_GINT64_MODIFIER "x, %s", addr,
                            layout->is_left[block] ? "left to the dynamic allocator"
                                                   : "outside the plan");
  return g_strdup_printf ("%s into the pool", TESSERA_SIZE (addr - begin));
}

char *
tessera_describe_address (TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];

  return b->flags & TESSERA_FAILED
             ? g_strdup ("failed")
             : g_strdup_printf ("0x%" G_GINT64_MODIFIER "x", b->addr);
}

char *
tessera_describe_phases (TesseraData *data, uint32_t block)
{
  const TesseraBlock *b = &data->blocks->blocks[block];
  const TesseraStructure *structure = data->structure;
  const char *born, *died;

  if (b->born_phase >= structure->n_phases)
    return g_strdup ("");
  born = tessera_phase_name (data->trace, &structure->phases[b->born_phase]);
  if (b->died_phase >= structure->n_phases)
    return g_strdup (born);
  died = tessera_phase_name (data->trace, &structure->phases[b->died_phase]);
  return g_str_equal (born, died) ? g_strdup (born)
                                  : g_strdup_printf ("%s → %s", born, died);
}

char *
tessera_describe_group (TesseraData *data, uint32_t block)
{
  uint32_t group = data->blocks->blocks[block].group;

  return g_strdup (group < data->n_groups ? data->groups[group].name : "");
}

char *
tessera_describe_owner (TesseraData *data, TesseraBy by, uint32_t block)
{
  const TesseraWhose *whose = &data->whose;
  g_autofree char *name = tessera_owner_of (whose, by, block);

  /* Rows by module have the line's function then, which stands beside it here. */
  if (by == TESSERA_BY_MODULE &&
      (whose->tensors == NULL || whose->tensors[block] == TESSERA_NONE) &&
      (whose->origins.modules == NULL || whose->origins.modules[block] == TESSERA_NONE))
    return g_strdup ("");

  return g_strdup (g_str_has_prefix (name, "(no ") ? "" : cli_shown (name));
}

char *
tessera_describe_frame_place (const TesseraTrace *trace, uint32_t frame)
{
  const TesseraFrame *f = &trace->frames[frame];
  const char *file = cli_shown (tessera_trace_string (trace, f->file));
  const char *slash = strrchr (file, '/');
  const char *base = slash != NULL ? slash + 1 : file;

  if (*base == '\0' || g_str_equal (base, "??"))
    return g_strdup ("");
  if (f->line <= 0)
    return g_strdup (base);
  return g_strdup_printf ("%s:%" G_GINT64_FORMAT, base, f->line);
}

char *
tessera_document_describe_moment (TesseraDocument *document)
{
  const TesseraParts *verdict = &document->verdict.parts;
  uint32_t event_index = document->described.parts.event_index;

  if (event_index != verdict->event_index)
    return g_strdup_printf ("event %s", TESSERA_COUNT (event_index));
  if (document->verdict.died)
    return g_strdup ("the failure");
  if (document->data != NULL &&
      verdict->reserved_bytes <
          tessera_data_own_layout (document->data)->peak_reserved_bytes)
    return g_strdup ("the later peak of reserved");
  return g_strdup ("the peak of reserved");
}

/* --- what is told of a block ---------------------------------------------------------- */

char *
tessera_describe_stream (uint32_t stream)
{
  return g_strdup_printf ("%u%s", stream, stream == 0 ? " (default)" : "");
}

/* As the driver numbers it, too, with the pool that the block is of. */
static char *
describe_stream (const TesseraTrace *trace, const TesseraBlock *block)
{
  uint64_t handle = block->stream < trace->n_streams ? trace->streams[block->stream] : 0;
  g_autofree char *name = tessera_describe_stream (block->stream);
  GString *text = g_string_new (name);

  if (handle != 0)
    g_string_append_printf (text, " (0x%" G_GINT64_MODIFIER "x)", handle);
  if (block->pool != 0)
    g_string_append_printf (text, ", private pool %u", block->pool);
  return g_string_free (text, FALSE);
}

/* Whose memory a block got, or who gets it, when, and what orders the two: "stream 1, freed 8
 * events, 1.2 ms before: waits for it" */
static char *
describe_link (const TesseraSheet *sheet, uint32_t block, gboolean is_to)
{
  const TesseraLink *links = sheet != NULL ? sheet->layout->links : NULL;
  const uint32_t next = links == NULL ? TESSERA_NONE
                        : is_to       ? links[block].after
                                      : links[block].before;

  if (next == TESSERA_NONE)
    return NULL;
  const TesseraBlock *blocks = sheet->data->blocks->blocks,
                     *former = &blocks[is_to ? block : next],
                     *latter = &blocks[is_to ? next : block];
  const gboolean is_own = former->stream == latter->stream;
  g_autofree char *number = tessera_describe_stream (blocks[next].stream);
  g_autofree char *stream =
      is_own ? g_strdup ("the same stream") : g_strconcat ("stream ", number, NULL);
  g_autofree char *events =
      describe_events (sheet->data, former->freed_index, latter->born_index);
  const char *order = links[is_to ? next : block].n_waits == 0
                          ? is_own ? "no wait" : "an earlier wait covers it"
                      : is_own ? "waits for other streams that used it"
                               : "waits for it";

  return is_to ? g_strdup_printf ("%s, %s after the free: %s", stream, events, order)
               : g_strdup_printf ("%s, freed %s before: %s", stream, events, order);
}

char *
tessera_describe_fact (TesseraDocument *document,
                       uint32_t block,
                       TesseraFactKind kind,
                       const char **out_name)
{
  static const char *const names[TESSERA_N_FACTS] = {
    "category", "module", "line",    "class",      "lives",       "born",      "dies",
    "phases",   "stream", "lies at", "planned at", "memory from", "memory to", "group"
  };
  TesseraData *data = document->data;
  const TesseraBlock *b = &data->blocks->blocks[block];
  const TesseraSheet *sheet =
      document
          ->sheets[kind == TESSERA_FACT_LEFT ? TESSERA_SIDE_LEFT : TESSERA_SIDE_RIGHT];

  *out_name = names[kind];
  switch (kind)
    {
    case TESSERA_FACT_CATEGORY:
      return tessera_describe_owner (data, TESSERA_BY_CATEGORY, block);
    case TESSERA_FACT_MODULE:
      return tessera_describe_owner (data, TESSERA_BY_MODULE, block);
    case TESSERA_FACT_LINE:
      return tessera_describe_owner (data, TESSERA_BY_LINE, block);
    case TESSERA_FACT_CLASS:
      return g_strdup (tessera_class_name (b->lifetime_class));
    case TESSERA_FACT_LIVES:
      return tessera_describe_life (data, block);
    case TESSERA_FACT_BORN:
      return tessera_describe_birth (data, block);
    case TESSERA_FACT_DIES:
      return describe_death (data, block);
    case TESSERA_FACT_PHASES:
      return tessera_describe_phases (data, block);
    case TESSERA_FACT_STREAM:
      return describe_stream (data->trace, b);
    case TESSERA_FACT_LEFT:
      *out_name = document->left_planned != NULL                   ? "left at"
                  : document->left_kind == TESSERA_LAYOUT_RECORDED ? "recorded at"
                                                                   : "simulated at";
      G_GNUC_FALLTHROUGH;
    case TESSERA_FACT_RIGHT:
      return sheet != NULL ? tessera_describe_place (sheet, block) : NULL;
    case TESSERA_FACT_FROM:
    case TESSERA_FACT_TO:
      return describe_link (sheet, block, kind == TESSERA_FACT_TO);
    default:
      return tessera_describe_group (data, block);
    }
}

/* --- what is selected, as text ------------------------------------------------------- */

/* A table of these is made in a frame's time. */
#define MOST_ROWS 1000

static void
add_stack (GString *lines, const TesseraTrace *trace, uint32_t stack)
{
  if (stack >= trace->n_stacks)
    return;
  g_string_append (lines, "stack:\n");
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const TesseraFrame *frame = &trace->frames[trace->stack_frames[i]];

      g_string_append_printf (lines, "  %s, %s:%" G_GINT64_FORMAT "\n",
                              cli_shown (tessera_trace_string (trace, frame->name)),
                              cli_shown (tessera_trace_string (trace, frame->file)),
                              frame->line);
    }
}

static char *
text_of_block (TesseraDocument *document, uint32_t index)
{
  const TesseraData *data = document->data;
  const TesseraBlock *block = &data->blocks->blocks[index];
  GString *lines = g_string_new (NULL);

  g_string_append_printf (lines, "block %s: %s (%s)\n", TESSERA_COUNT (index),
                          TESSERA_SIZE (block->size_bytes),
                          TESSERA_BYTES (block->size_bytes));
  for (TesseraFactKind fact = 0; fact < TESSERA_N_FACTS; fact++)
    {
      const char *name;
      g_autofree char *text = tessera_describe_fact (document, index, fact, &name);

      if (text != NULL && *text != '\0')
        g_string_append_printf (lines, "%s: %s\n", name, text);
    }
  add_stack (lines, data->trace, block->stack);
  return g_string_free (lines, FALSE);
}

static void
add_row (GString *rows, TesseraData *data, uint32_t index)
{
  const TesseraBlock *block = &data->blocks->blocks[index];
  g_autofree char *phases = tessera_describe_phases (data, index);
  g_autofree char *source = tessera_describe_owner (data, TESSERA_BY_LINE, index);
  g_autofree char *group = tessera_describe_group (data, index);
  g_autofree char *address = tessera_describe_address (data, index);
  char *names[] = { phases, source, group };

  /* Names may have whatever a file has. */
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    g_strdelimit (names[i], "\t\r\n", ' ');
  g_string_append_printf (rows, "%u\t%" G_GUINT64_FORMAT "\t%u\t%u\t%s\t", index,
                          block->size_bytes, block->born_index, block->died_index,
                          tessera_class_name (block->lifetime_class));
  g_string_append_printf (rows, "%s\t%s\t%s\t%s\n", phases, source, group, address);
}

static char *
text_of_several (TesseraDocument *document)
{
  const TesseraSelection *selection = document->selection;
  GString *rows = g_string_new ("block\tbytes\tborn\tdied\tclass\tphases\tsource\tgroup\t"
                                "address\n");

  for (size_t i = 0; i < MIN (selection->n_blocks, MOST_ROWS); i++)
    add_row (rows, document->data, selection->blocks[i]);
  if (selection->n_blocks > MOST_ROWS)
    g_string_append_printf (rows, "and %s more\n",
                            TESSERA_COUNT (selection->n_blocks - MOST_ROWS));
  return g_string_free (rows, FALSE);
}

char *
tessera_copy_text (TesseraDocument *document)
{
  if (document->data == NULL || document->selection == NULL)
    return NULL;
  if (tessera_document_n_selected (document) == 1)
    return text_of_block (document, document->selection->blocks[0]);
  return text_of_several (document);
}

/* --- edits by hand ------------------------------------------------------------------- */

static const TesseraEditCommand commands[] = {
  { "edit-group", "New group…", "<Control>g", TESSERA_EDIT_GROUP, 0, TRUE, FALSE },
  { "edit-move", "Move to group…", "<Control><Shift>g", TESSERA_EDIT_MOVE, 0, TRUE,
    FALSE },
  { "edit-merge", "Merge groups…", "<Control>m", TESSERA_EDIT_MERGE, 0, TRUE, FALSE },
  { "edit-split-phase", "Split by phase", "<Alt>1", TESSERA_EDIT_SPLIT,
    TESSERA_SPLIT_PHASE, FALSE, TRUE },
  { "edit-split-size", "Split by size", "<Alt>2", TESSERA_EDIT_SPLIT, TESSERA_SPLIT_SIZE,
    FALSE, FALSE },
  { "edit-split-module", "Split by module", "<Alt>3", TESSERA_EDIT_SPLIT,
    TESSERA_SPLIT_MODULE, FALSE, FALSE },
  { "edit-split-step", "Split by step", "<Alt>4", TESSERA_EDIT_SPLIT, TESSERA_SPLIT_STEP,
    FALSE, FALSE },
  { "edit-split-at", "Split at the moment", "<Alt>5", TESSERA_EDIT_SPLIT,
    TESSERA_SPLIT_AT, FALSE, FALSE },
  { "edit-pin", "Pin at an offset…", "<Control><Shift>p", TESSERA_EDIT_PIN, 0, TRUE,
    TRUE },
  { "edit-together", "Keep together", "<Control>k", TESSERA_EDIT_TOGETHER, 0, FALSE,
    FALSE },
  { "edit-apart", "Keep apart…", "<Control><Shift>k", TESSERA_EDIT_APART, 0, TRUE,
    FALSE },
  { "edit-dynamic", "Leave to the dynamic allocator", "<Control>u", TESSERA_EDIT_DYNAMIC,
    0, FALSE, TRUE },
  { "edit-class", "Change class…", "<Control>l", TESSERA_EDIT_CLASS, 0, TRUE, FALSE },
  { "edit-cap", "Cap the pool…", "<Control><Shift>l", TESSERA_EDIT_CAP, 0, TRUE, FALSE },
};

const TesseraEditCommand *
tessera_edit_commands (size_t *out_n_commands)
{
  *out_n_commands = G_N_ELEMENTS (commands);
  return commands;
}

/* "Split by step: the trace has no two steps". @said: (nullable): need not be said again. */
static void
append_command (GMenu *section,
                const TesseraEditCommand *command,
                const char *why,
                const char *said)
{
  g_autofree char *action = g_strconcat ("win.", command->action, NULL);
  g_autofree char *label = g_strdup (command->title);

  if (why != NULL && g_strcmp0 (why, said) != 0)
    {
      g_free (label);
      label =
          g_strdup_printf ("%s: %c%s", command->title, g_ascii_tolower (why[0]), why + 1);
    }
  g_menu_append (section, label, action);
}

GMenuModel *
tessera_edit_menu_model (TesseraDocument *document)
{
  /* What holds for nearly all is the heading. */
  const char *said = tessera_document_why_no_edit (document, TESSERA_EDIT_GROUP, 0);
  GMenu *menu = g_menu_new ();
  g_autoptr (GMenu) section = g_menu_new ();

  g_menu_append (section, "Undo", "win.undo");
  g_menu_append (section, "Redo", "win.redo");
  g_menu_append_section (menu, NULL, G_MENU_MODEL (section));
  for (size_t i = 0; i < G_N_ELEMENTS (commands); i++)
    {
      if (i == 0 || commands[i].begins)
        {
          g_object_unref (section);
          section = g_menu_new ();
          g_menu_append_section (menu, i == 0 ? said : NULL, G_MENU_MODEL (section));
        }
      append_command (
          section, &commands[i],
          tessera_document_why_no_edit (document, commands[i].kind, commands[i].by),
          said);
    }
  return G_MENU_MODEL (menu);
}
