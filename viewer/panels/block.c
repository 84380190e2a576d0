/*
 * Everything about the selected blocks: of several what they have in common; of the one
 * that leads them its exact bytes, both places, its stack and its neighbours; below, the
 * largest blocks alive at the chosen moment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

#include "cli/command.h"
#include "picture/colour.h"
#include "planner/modules.h"

/* Frames beyond this are counted, not shown: a label each would take seconds. */
#define MOST_FRAMES 120
/* Of function and place: more stand below each other. */
#define MOST_BESIDE_CHARS 28

/* --- several ---------------------------------------------------------------------- */

static const char *const common_names[TESSERA_N_COMMON] = {
  [TESSERA_COMMON_AT_PEAK] = "at peak live", [TESSERA_COMMON_AT_ONCE] = "at once",
  [TESSERA_COMMON_CLASSES] = "class",        [TESSERA_COMMON_PHASES] = "phases",
  [TESSERA_COMMON_SIZES] = "sizes",          [TESSERA_COMMON_GROUPS] = "groups",
  [TESSERA_COMMON_STEPS] = "steps",          [TESSERA_COMMON_LIVES] = "live",
  [TESSERA_COMMON_STREAMS] = "streams",
};

typedef struct
{
  TesseraPanel panel;
  GtkWidget *count;
  GtkWidget *bytes;
  GtkWidget *grid;
  TesseraFact facts[TESSERA_N_COMMON];
} Several;

static void
show_common (Several *self)
{
  const TesseraSelectionFacts *facts = &self->panel.document->facts;

  tessera_label_set (self->bytes, "%s asked", TESSERA_SIZE (facts->size_bytes));
  tessera_set_tip (self->bytes, TESSERA_BYTES (facts->size_bytes));
  for (int i = 0; i < TESSERA_N_COMMON; i++)
    tessera_fact_set (&self->facts[i], g_strdup (facts->texts[i]));
}

static void
several_changed (TesseraDocument *document, guint what, gpointer user)
{
  Several *self = user;
  const TesseraSelection *selection = document->selection;
  gboolean many = selection != NULL && selection->n_blocks > 1;
  gboolean is_known = many && document->facts.selection == selection;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SELECTION |
                TESSERA_CHANGED_FACTS | TESSERA_CHANGED_GROUPS)))
    return;
  gtk_widget_set_visible (self->panel.box, many);
  if (!many)
    return;
  tessera_label_set (self->count, "%s", TESSERA_COUNTED (selection->n_blocks, "block"));
  /* Old facts are another selection's. */
  gtk_widget_set_opacity (self->grid, is_known ? 1 : 0.3);
  if (is_known)
    show_common (self);
}

static GtkWidget *
several_new (TesseraDocument *document)
{
  Several *self = tessera_panel_new (sizeof *self, document, "selection", 8, NULL);

  self->count = tessera_named (tessera_label_new ("", "block-size"), "selection-count");
  self->bytes = tessera_named (tessera_label_new ("", "quiet"), "selection-bytes");
  self->grid = tessera_facts_new (self->facts, common_names, TESSERA_N_COMMON, 12);
  gtk_widget_set_name (self->facts[TESSERA_COMMON_AT_PEAK].value, "selection-peak");
  gtk_widget_set_name (self->facts[TESSERA_COMMON_SIZES].value, "selection-sizes");
  tessera_panel_add (self, self->count, self->bytes, self->grid, tessera_line_new (),
                     tessera_heading_new ("The outlined one"), NULL);
  return tessera_panel_watch (self, several_changed);
}

/* --- a stack, folded to the program's own lines ----------------------------------- */

typedef struct
{
  GtkWidget *box;
  GtkWidget *all; /* GtkToggleButton */
  GtkWidget *frames;
  const TesseraTrace *trace;
  uint32_t stack;
} Stack;

static GtkWidget *
frame_new (const TesseraTrace *trace, uint32_t frame, gboolean is_own)
{
  const char *name = cli_shown (tessera_trace_string (trace, trace->frames[frame].name));
  const char *file = cli_shown (tessera_trace_string (trace, trace->frames[frame].file));
  g_autofree char *place = tessera_describe_frame_place (trace, frame);
  gboolean is_long =
      g_utf8_strlen (name, -1) + g_utf8_strlen (place, -1) > MOST_BESIDE_CHARS;
  GtkWidget *row;
  GtkWidget *function = tessera_name_new ("frame", is_own ? "strong" : "quiet", 3);
  GtkWidget *where = tessera_name_new ("frame", is_own ? "place own" : "place", 3);

  tessera_name_write (function, name);
  tessera_name_write (where, place);
  gtk_widget_set_hexpand (function, TRUE);
  gtk_label_set_xalign (GTK_LABEL (where), 1);
  row = is_long ? tessera_column_new (0, function, where, NULL)
                : tessera_row_new (8, function, where, NULL);
  tessera_set_tip_of (row, "%s\n%s:%" G_GINT64_FORMAT, name, file,
                      trace->frames[frame].line);
  return row;
}

static void
show_frames (Stack *self)
{
  const TesseraTrace *trace = self->trace;
  gboolean all = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->all));
  unsigned n_shown = 0, n_folded = 0;

  for (uint32_t i = trace->stack_begin[self->stack];
       i < trace->stack_begin[self->stack + 1]; i++)
    {
      gboolean is_own = tessera_frame_is_own (trace, trace->stack_frames[i]);

      if ((all || is_own) && n_shown++ < MOST_FRAMES)
        gtk_box_append (GTK_BOX (self->frames),
                        frame_new (trace, trace->stack_frames[i], is_own));
      else
        n_folded++;
    }
  if (n_folded > 0)
    {
      GtkWidget *label = tessera_label_new ("", "quiet");

      tessera_label_set (label,
                         all ? "and %s more frames" : "%s frames of libraries folded",
                         TESSERA_COUNT (n_folded));
      gtk_box_append (GTK_BOX (self->frames), label);
    }
}

static void
show_stack (Stack *self)
{
  gboolean is_known = self->trace != NULL && self->stack < self->trace->n_stacks;

  tessera_remove_children (self->frames);
  gtk_widget_set_visible (self->all, is_known);
  if (is_known)
    show_frames (self);
  else
    gtk_box_append (
        GTK_BOX (self->frames),
        tessera_sentence_new ("The file has no stack for this block.", "quiet"));
}

static void
set_stack (Stack *self, const TesseraTrace *trace, uint32_t stack)
{
  if (self->trace == trace && self->stack == stack)
    return;
  self->trace = trace;
  self->stack = stack;
  show_stack (self);
}

static void
make_stack (Stack *self)
{
  GtkWidget *heading = tessera_heading_new ("Stack");

  self->stack = TESSERA_NONE;
  self->all =
      tessera_named (gtk_toggle_button_new_with_label ("All frames"), "stack-all");
  gtk_widget_add_css_class (self->all, "flat");
  gtk_widget_add_css_class (self->all, "small");
  g_signal_connect_swapped (self->all, "toggled", G_CALLBACK (show_stack), self);
  self->frames = tessera_named (tessera_column_new (3, NULL), "stack-frames");
  gtk_widget_set_hexpand (heading, TRUE);
  self->box = tessera_column_new (4, tessera_row_new (8, heading, self->all, NULL),
                                  self->frames, NULL);
}

/* --- the one that leads ----------------------------------------------------------- */

#define N_NEIGHBOURS 8

typedef struct
{
  TesseraPanel panel;
  GtkWidget *empty;
  GtkWidget *filled;
  GtkWidget *size;
  GtkWidget *exact;
  TesseraFact facts[TESSERA_N_FACTS];
  Stack stack;
  GtkWidget *neighbours;
  GtkWidget *line;
  GtkWidget *answers; /* first, until a block is selected */
  GtkWidget *largest;
} Inspector;

static void
show_sizes (Inspector *self, const TesseraBlock *block)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *sheet = document->sheets[TESSERA_SIDE_LEFT];
  uint64_t taken =
      sheet != NULL && sheet->layout->addr[document->selected] != TESSERA_NOWHERE
          ? sheet->layout->block_bytes[document->selected]
          : block->block_bytes;
  uint64_t lost = taken > block->size_bytes ? taken - block->size_bytes : 0;

  tessera_label_set (self->size, "%s", TESSERA_SIZE (block->size_bytes));
  tessera_label_set (self->exact, "%s asked%s%s%s", TESSERA_BYTES (block->size_bytes),
                     lost > 0 ? ", " : "", lost > 0 ? TESSERA_BYTES (lost) : "",
                     lost > 0 ? " rounding" : "");
  tessera_set_tip (self->exact, gtk_label_get_text (GTK_LABEL (self->exact)));
}

static void
show_block (Inspector *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraData *data = document->data;
  const TesseraBlock *block = &data->blocks->blocks[document->selected];

  show_sizes (self, block);
  for (TesseraFactKind fact = 0; fact < TESSERA_N_FACTS; fact++)
    {
      const char *name;

      tessera_fact_set (
          &self->facts[fact],
          tessera_describe_fact (document, document->selected, fact, &name));
      gtk_label_set_text (GTK_LABEL (self->facts[fact].name), name);
    }
  set_stack (&self->stack, data->trace, block->stack);
}

/* The block that touches @block below (@above: above) while it is born, or
 * TESSERA_NONE. */
static uint32_t
find_in_address (const TesseraSheet *sheet, uint32_t block, gboolean above)
{
  TesseraView rect;
  double t, y;

  if (sheet == NULL || !tessera_scene_block_rect (sheet->scene, block, &rect))
    return TESSERA_NONE;
  /* A hair inside its life, half of the smallest block beyond its edge. */
  t = rect.t0 + (rect.t1 - rect.t0) * 1e-6;
  y = above ? rect.y1 + 256 : rect.y0 - 256;
  return y < 0 ? TESSERA_NONE : tessera_scene_block_at (sheet->scene, t, y);
}

/* Before and after it in time, below and above it in address. */
static void
show_neighbours (Inspector *self)
{
  const TesseraDocument *document = self->panel.document;
  const TesseraBlocks *blocks = document->data->blocks;
  uint32_t selected = document->selected;
  const TesseraSheet *left = document->sheets[TESSERA_SIDE_LEFT];
  const TesseraSheet *right = document->sheets[TESSERA_SIDE_RIGHT];
  const TesseraLink none = { TESSERA_NONE, TESSERA_NONE, 0 },
                    *link = right != NULL && right->layout->links != NULL
                                ? &right->layout->links[selected]
                                : &none;
  const struct
  {
    const char *name;
    uint32_t block;
  } all[N_NEIGHBOURS] = {
    { "born before", selected > 0 ? selected - 1 : TESSERA_NONE },
    { "born after", selected + 1 < blocks->n_blocks ? selected + 1 : TESSERA_NONE },
    { "it rests on", find_in_address (left, selected, FALSE) },
    { "above it", find_in_address (left, selected, TRUE) },
    { "plan: it rests on", find_in_address (right, selected, FALSE) },
    { "plan: above it", find_in_address (right, selected, TRUE) },
    { "plan: memory from", link->before },
    { "plan: memory to", link->after },
  };

  tessera_links_begin (self->neighbours);
  for (int i = 0; i < N_NEIGHBOURS; i++)
    if (all[i].block != TESSERA_NONE)
      {
        const TesseraBlock *block = &blocks->blocks[all[i].block];
        g_autofree char *words = g_strdup_printf (
            "%s, %s", all[i].name, tessera_class_name (block->lifetime_class));

        tessera_links_add (self->neighbours, all[i].block, block->size_bytes, words);
      }
}

/* --- the largest, those that are alike in one row --------------------------------- */

static void
add_alike (GtkWidget *largest, TesseraData *data, const TesseraAlike *alike)
{
  const TesseraBlock *block = &data->blocks->blocks[alike->block];
  g_autofree char *name = tessera_name_block (&data->whose, alike->block);
  const char *words =
      *name != '\0' ? cli_shown (name) : tessera_class_name (block->lifetime_class);
  g_autofree char *several =
      g_strdup_printf ("%s × %s", TESSERA_COUNT (alike->n_blocks), words);

  tessera_links_add (largest, alike->block, block->size_bytes,
                     alike->n_blocks > 1 ? several : words);
}

static void
show_largest (Inspector *self)
{
  TesseraDocument *document = self->panel.document;
  g_autofree char *moment = NULL;

  tessera_links_begin (self->largest);
  if (document->data == NULL)
    return;
  moment = tessera_document_describe_moment (document);
  tessera_label_set (gtk_widget_get_first_child (self->largest), "Largest at %s", moment);
  for (size_t i = 0; i < document->described.n_largest; i++)
    add_alike (self->largest, document->data, &document->described.largest[i]);
}

/* --- all of it -------------------------------------------------------------------- */

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Inspector *self = user;
  gboolean any = document->data != NULL && document->selected != TESSERA_NONE;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_GROUPS))
    show_largest (self);
  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SELECTION |
                TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_GROUPS)))
    return;
  /* Another trace may lie where the last one lay. */
  if (what & TESSERA_CHANGED_TRACE)
    set_stack (&self->stack, NULL, TESSERA_NONE);
  gtk_widget_set_visible (self->empty, !any);
  gtk_widget_set_visible (self->filled, any);
  gtk_box_reorder_child_after (GTK_BOX (self->panel.box), self->answers,
                               any ? self->line : NULL);
  if (any)
    {
      show_block (self);
      show_neighbours (self);
    }
}

static GtkWidget *
filled_new (Inspector *self)
{
  static const char *const no_names[TESSERA_N_FACTS];
  GtkWidget *facts = tessera_facts_new (self->facts, no_names, TESSERA_N_FACTS, 4);

  self->size = tessera_named (tessera_label_new ("", "block-size"), "block-size");
  self->exact = tessera_named (tessera_sentence_new ("", "quiet"), "block-exact");
  make_stack (&self->stack);
  self->neighbours = tessera_links_new (self->panel.document, "Neighbours", N_NEIGHBOURS);
  gtk_widget_set_name (self->facts[TESSERA_FACT_LEFT].value, "block-left");
  return tessera_column_new (8, self->size, self->exact, facts, tessera_line_new (),
                             self->stack.box, tessera_line_new (), self->neighbours,
                             NULL);
}

GtkWidget *
tessera_inspector_new (TesseraDocument *document)
{
  Inspector *self = tessera_panel_new (sizeof *self, document, "inspector", 10, NULL);

  self->empty = tessera_sentence_new (
      "Click a block to see its size, its life, where it lies in both layouts, and the "
      "line of the program that asked for it. Ctrl+click takes more of them, Shift+drag "
      "all that a band covers.",
      "quiet");
  gtk_widget_set_name (self->empty, "inspector-empty");
  self->filled = filled_new (self);
  self->largest =
      tessera_named (tessera_links_new (document, "", TESSERA_N_LARGEST), "largest");
  self->answers = tessera_answers_view_new (document);
  self->line = tessera_line_new ();
  tessera_panel_add (self, self->answers, several_new (document), self->empty,
                     self->filled, self->line, self->largest, NULL);
  return tessera_panel_watch (self, on_changed);
}
