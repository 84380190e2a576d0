/*
 * Several plans: those that are kept, which stands on which side, and how what is shown
 * on both sides differs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"
#include "viewer/panels/private.h"

#include "db/plan.h"

/* --- how both sides differ -------------------------------------------------------- */

#define N_MOVED 12

enum
{
  HEIGHT,
  ABOVE,
  HITS,
  MISSES,
  N_FACTS
};

enum
{
  SAME,
  MOVED,
  ONLY_LEFT,
  ONLY_RIGHT,
  N_COUNTS
};

typedef struct
{
  TesseraPanel panel;
  GtkWidget *facts[N_FACTS][TESSERA_N_SIDES];
  GtkWidget *hint;
  GtkWidget *differences;         /* of two plans */
  GtkWidget *counts[N_COUNTS][2]; /* blocks, bytes */
  GtkWidget *select;
  GtkWidget *moved;
} Comparison;

static const char *const side_names[TESSERA_N_SIDES] = { "left", "right" };
static const char *const fact_names[N_FACTS] = { "height", "above bound", "hits",
                                                 "misses" };
static const char *const amount_names[2] = { "blocks", "bytes" };
static const char *const count_names[N_COUNTS] = { "same", "moved", "left only",
                                                   "right only" };

static void
show_side (Comparison *self, int side)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *sheet = document->sheets[side];
  const TesseraFollowed *planned = sheet != NULL ? sheet->planned : NULL;
  uint64_t height, bound;

  for (int fact = 0; fact < N_FACTS; fact++)
    tessera_label_set (self->facts[fact][side], "–");
  if (sheet == NULL)
    return;
  height = planned != NULL ? planned->height_bytes : sheet->layout->peak_reserved_bytes;
  bound = planned != NULL ? planned->bound_bytes : tessera_document_bound (document);
  tessera_label_set (self->facts[HEIGHT][side], "%s", TESSERA_SIZE (height));
  tessera_label_set (self->facts[ABOVE][side], "%.1f %%",
                     100 * ((double) height / (double) MAX (bound, 1) - 1));
  if (sheet->layout->is_hit == NULL)
    return;
  tessera_label_set (self->facts[HITS][side], "%s",
                     TESSERA_COUNT (sheet->layout->n_hits));
  if (sheet->layout->n_planned_misses > 0)
    tessera_label_set (self->facts[MISSES][side], "%s (%s planned)",
                       TESSERA_COUNT (sheet->layout->n_misses),
                       TESSERA_COUNT (sheet->layout->n_planned_misses));
  else
    tessera_label_set (self->facts[MISSES][side], "%s",
                       TESSERA_COUNT (sheet->layout->n_misses));
}

static void
add_moved (GtkWidget *moved, const TesseraMovedBlock *move)
{
  uint64_t before = move->offset_bytes[0], after = move->offset_bytes[1];
  const char *from = TESSERA_SIZE (before), *to = TESSERA_SIZE (after);
  /* By less than what both are written with. */
  g_autofree char *place =
      g_str_equal (from, to)
          ? g_strdup_printf (
                "%s, %s %s", from, after > before ? "up" : "down",
                TESSERA_SIZE (after > before ? after - before : before - after))
          : g_strdup_printf ("%s → %s", from, to);

  tessera_links_add (moved, move->block, move->block_bytes, place);
}

static void
show_differences (Comparison *self)
{
  const TesseraComparison *c = self->panel.document->comparison;
  const struct
  {
    size_t n;
    uint64_t bytes;
  } amounts[N_COUNTS] = { { c->n_same, c->same_bytes },
                          { c->n_moved, c->moved_bytes },
                          { c->n_only[0], c->only_bytes[0] },
                          { c->n_only[1], c->only_bytes[1] } };

  for (int i = 0; i < N_COUNTS; i++)
    {
      tessera_label_set (self->counts[i][0], "%s", TESSERA_COUNT (amounts[i].n));
      tessera_label_set (self->counts[i][1], "%s", TESSERA_SIZE (amounts[i].bytes));
    }
  gtk_widget_set_sensitive (self->select, self->panel.document->difference != NULL);
  tessera_links_begin (self->moved);
  for (size_t i = 0; i < MIN (N_MOVED, c->n_moved); i++)
    add_moved (self->moved, &c->moves[i]);
}

static void
comparison_changed (TesseraDocument *document, guint what, gpointer user)
{
  Comparison *self = user;
  gboolean both = document->left_planned != NULL && document->planned != NULL;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PLANS)))
    return;
  gtk_widget_set_visible (self->panel.box, document->data != NULL);
  if (document->data == NULL)
    return;
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    show_side (self, side);
  gtk_widget_set_visible (self->hint, !both);
  gtk_widget_set_visible (self->differences, both && document->comparison != NULL);
  if (document->comparison != NULL)
    show_differences (self);
}

/* Numbers, two a line: @heads above them, @names before them, each called "compare-" and
 * its name, and where @by_side that of its head. */
static GtkWidget *
numbers_new (GtkWidget *(*numbers)[2],
             int n,
             const char *const *names,
             const char *const heads[2],
             gboolean by_side)
{
  GtkWidget *grid = tessera_grid_new (12, 4);

  for (int column = 0; column < 2; column++)
    {
      GtkWidget *head = tessera_number_new ("head", "quiet");

      tessera_label_set (head, "%s", heads[column]);
      gtk_grid_attach (GTK_GRID (grid), head, column + 1, 0, 1, 1);
    }
  for (int i = 0; i < n; i++)
    {
      for (int column = 0; column < 2; column++)
        {
          g_autofree char *name =
              g_strconcat ("compare-", names[i], by_side || column > 0 ? "-" : "",
                           by_side || column > 0 ? heads[column] : "", NULL);

          numbers[i][column] = tessera_number_new (name, "figure");
          gtk_widget_set_hexpand (numbers[i][column], TRUE);
        }
      tessera_grid_add (grid, i + 1, tessera_label_new (names[i], "quiet"), numbers[i][0],
                        numbers[i][1], NULL);
    }
  return grid;
}

static GtkWidget *
differences_new (Comparison *self)
{
  GtkWidget *show = gtk_toggle_button_new_with_label ("Show what moved");

  gtk_actionable_set_action_name (GTK_ACTIONABLE (show), "win.difference");
  gtk_widget_add_css_class (show, "small");
  tessera_set_tip (show,
                   "Light up what lies elsewhere, dim what lies at the same offset (x)");
  self->select = tessera_button_new ("Select it", "win.select-difference", NULL, "small",
                                     "Select all blocks that lie elsewhere");
  self->moved = tessera_links_new (self->panel.document, "Largest that moved", N_MOVED);
  return tessera_column_new (
      8, numbers_new (self->counts, N_COUNTS, count_names, amount_names, FALSE),
      tessera_row_new (6, show, self->select, NULL), self->moved, NULL);
}

static GtkWidget *
comparison_new (TesseraDocument *document)
{
  Comparison *self = tessera_panel_new (sizeof *self, document, "compare", 10, NULL);

  self->hint = tessera_sentence_new (
      "To see what moved, put a plan on the left as well: PyTorch's addresses are not "
      "offsets of a pool.",
      "quiet");
  self->differences = differences_new (self);
  tessera_panel_add (self, tessera_heading_new ("Compared"),
                     numbers_new (self->facts, N_FACTS, fact_names, side_names, TRUE),
                     self->hint, self->differences, NULL);
  return tessera_panel_watch (self, comparison_changed);
}

/* --- what waits for what, under a plan across streams -------------------------------- */

#define TABLE_HEIGHT 190

/* A row for each two streams of which one gets memory that the other had. */
typedef struct
{
  TesseraListPanel base;
  GtkWidget *heading;
  TesseraFollowed *planned; /* whose rows there are, or NULL */
} Handovers;

enum
{
  STREAMS,
  HANDOVERS,
  WAITS
};

static const TesseraHandoverCount *
count_at (const Handovers *self, guint position)
{
  return &self->planned->layout->handovers.counts[position];
}

static char *
handover_text (gpointer user, guint position, int column)
{
  const TesseraHandoverCount *count = count_at (user, position);
  g_autofree char *from = tessera_describe_stream (count->from),
                  *to = tessera_describe_stream (count->to);

  if (column != STREAMS)
    return g_strdup (
        TESSERA_COUNT (column == WAITS ? count->n_waits : count->n_handovers));
  return g_strdup_printf ("%s → %s", from, count->to == count->from ? "itself" : to);
}

/* Whether the block is of the step that is counted, and got its memory as the row says. */
static gboolean
is_of_row (const Handovers *self, uint32_t block, guint position)
{
  const TesseraLayout *layout = self->planned->layout;
  const TesseraBlocks *blocks = self->planned->data->blocks;
  uint16_t from;

  return blocks->blocks[block].step == layout->handovers.step &&
         blocks->blocks[block].stream == count_at (self, position)->to &&
         tessera_layout_is_handover (layout, blocks, block, &from) &&
         from == count_at (self, position)->from;
}

static gboolean
is_handover_selected (gpointer user, guint position)
{
  const Handovers *self = user;
  uint32_t lead = self->base.panel.document->selected;

  return lead != TESSERA_NONE && is_of_row (self, lead, position);
}

/* The blocks that get the memory. */
static uint32_t
mark_handovers (gpointer user, guint position, uint8_t *is_in)
{
  const Handovers *self = user;

  for (uint32_t block = 0; block < self->planned->layout->n_blocks; block++)
    if (is_of_row (self, block, position))
      is_in[block] = 1;
  return TESSERA_NONE;
}

static const TesseraRowModelKind handover_kind = {
  .name = "handovers",
  .title = "What waits for what",
  .empty = "No memory passes from stream to stream",
  .columns = { [STREAMS] = { "Stream → stream", 14, .is_wide = TRUE },
               [HANDOVERS] = { "Hand-overs", 7, TRUE },
               [WAITS] = { "Waits", 5, TRUE } },
  .text = handover_text,
  .is_selected = is_handover_selected,
  .mark = mark_handovers,
  .reveals = TRUE,
};

static void
handovers_changed (TesseraDocument *document, guint what, gpointer user)
{
  Handovers *self = user;
  TesseraFollowed *before = self->planned;
  const TesseraHandovers *handovers;

  if (document->planned == before)
    {
      if (what & TESSERA_CHANGED_SELECTION)
        tessera_row_model_refresh (self->base.rows);
      return;
    }
  self->planned = tessera_followed_ref (document->planned);
  handovers = self->planned != NULL ? &self->planned->layout->handovers : NULL;
  gtk_widget_set_visible (self->base.panel.box,
                          handovers != NULL && handovers->n_counts > 0);
  tessera_row_model_set_length (
      self->base.rows, handovers != NULL ? (guint) handovers->n_counts : 0, TRUE);
  tessera_followed_unref (before);
  if (handovers != NULL && handovers->step != TESSERA_NONE)
    tessera_label_set (self->heading, "What waits for what, in step %" G_GINT64_FORMAT,
                       self->planned->data->structure->steps[handovers->step].number);
}

static void
handovers_clear (gpointer handovers)
{
  g_clear_object (&((Handovers *) handovers)->base.rows);
  tessera_followed_unref (((Handovers *) handovers)->planned);
}

static GtkWidget *
handovers_new (TesseraDocument *document)
{
  Handovers *self =
      tessera_panel_new (sizeof *self, document, "handovers-panel", 6, handovers_clear);

  self->heading = tessera_heading_new (handover_kind.title);
  gtk_widget_set_visible (self->base.panel.box, FALSE);
  tessera_list_panel_make (&self->base, &handover_kind);
  gtk_widget_set_size_request (self->base.note, -1, TABLE_HEIGHT);
  tessera_panel_add (
      self, self->heading,
      tessera_sentence_new ("Memory passes from stream to stream (hand-over). The stream "
                            "that gets it waits for its last use, unless an earlier wait "
                            "covers that. A row selects the blocks that got it.",
                            "quiet"),
      self->base.note, tessera_line_new (), NULL);
  return tessera_panel_watch (self, handovers_changed);
}

/* --- a plan that is kept ---------------------------------------------------------- */

/* Row 0 is PyTorch's layout, row 1 + i the plan that is kept as number i: the newest
 * below PyTorch's, which stays the widget that it is where others come. */
typedef struct
{
  GtkWidget *grid;
  GtkWidget *title, *height, *words;
  GtkWidget *sides[TESSERA_N_SIDES]; /* buttons, as is the next */
  GtkWidget *forget;
} Row;

typedef struct
{
  TesseraPanel panel;
  GtkWidget *box; /* of the rows */
  GArray *rows;   /* Row */
} Plans;

static GtkWidget *
side_button_new (TesseraSide side, uint32_t index)
{
  gboolean is_left = side == TESSERA_SIDE_LEFT;
  GtkWidget *button =
      tessera_named (gtk_toggle_button_new_with_label (is_left ? "Left" : "Right"),
                     is_left ? "plan-left" : "plan-right");

  tessera_set_tip (button, is_left ? "Show it on the left" : "Show it on the right");
  gtk_widget_add_css_class (button, "small");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (button),
                                  is_left ? "win.show-left" : "win.show-right");
  gtk_actionable_set_action_target (GTK_ACTIONABLE (button), "u", index);
  return button;
}

static void
add_row (Plans *self)
{
  gboolean is_plan = self->rows->len > 0;
  uint32_t index = is_plan ? self->rows->len - 1 : TESSERA_NONE;
  GtkWidget *buttons;
  Row row = { .grid = tessera_grid_new (8, 2),
              .title = tessera_name_new ("plan-name", "strong", 2),
              .height = tessera_number_new ("plan-height", "figure"),
              .words = tessera_label_new ("", "quiet"),
              .sides = { side_button_new (TESSERA_SIDE_LEFT, index),
                         side_button_new (TESSERA_SIDE_RIGHT, index) },
              .forget = tessera_button_new ("window-close-symbolic", "win.forget-plan",
                                            "plan-forget", "flat small", NULL) };

  buttons = tessera_row_new (4, row.sides[0], row.sides[1], row.forget, NULL);
  gtk_actionable_set_action_target (GTK_ACTIONABLE (row.forget), "u", index);
  gtk_widget_set_visible (row.sides[TESSERA_SIDE_RIGHT], is_plan);
  gtk_widget_set_visible (row.forget, is_plan);
  gtk_widget_set_halign (buttons, GTK_ALIGN_END);
  gtk_widget_set_hexpand (row.title, TRUE);
  tessera_grid_add (row.grid, 0, row.title, row.height, NULL);
  tessera_grid_add (row.grid, 1, row.words, buttons, NULL);
  gtk_box_insert_child_after (GTK_BOX (self->box), row.grid,
                              is_plan ? g_array_index (self->rows, Row, 0).grid : NULL);
  g_array_append_val (self->rows, row);
}

/* @tip: of what row->words says. */
static void
write_row (const Row *row, const char *name, uint64_t bytes, const char *tip)
{
  g_autofree char *forget = g_strdup_printf ("Forget the plan %s", name);

  tessera_name_set (row->title, name);
  tessera_label_set (row->height, "%s", TESSERA_SIZE (bytes));
  tessera_set_tip (row->words, tip);
  tessera_set_tip (row->forget, forget);
  tessera_set_accessible_label (row->forget, forget);
}

static void
show_reality (Plans *self, const Row *row)
{
  TesseraDocument *document = self->panel.document;
  const TesseraLayout *layout = tessera_data_own_layout (document->data);
  g_autofree char *name = g_strdup_printf ("%s, %s", tessera_layout_owner (layout),
                                           tessera_layout_kind_name (layout->kind));

  tessera_label_set (row->words, "reserved");
  write_row (row, name, layout->peak_reserved_bytes, "The most that was reserved");
}

static void
show_plan (Plans *self, const Row *row, const TesseraKept *kept)
{
  TesseraDocument *document = self->panel.document;
  const TesseraFollowed *planned = kept->followed;
  g_autoptr (GDateTime) made = g_date_time_new_from_unix_local (kept->made_s);
  g_autofree char *clock = g_date_time_format (made, "%H:%M");
  g_autofree char *gap =
      planned->height_bytes <= planned->bound_bytes
          ? tessera_describe_above (planned, tessera_document_bound (document))
          : g_strdup_printf ("+%.2f %%",
                             MAX (100 * ((double) planned->height_bytes /
                                             (double) MAX (planned->bound_bytes, 1) -
                                         1),
                                  0.01));

  tessera_label_set (row->words, "%s · %s", gap, clock);
  write_row (row, kept->name, planned->height_bytes,
             "Height above the bound, and when it was made");
}

/* --- all of them ------------------------------------------------------------------ */

static void
show_rows (Plans *self)
{
  TesseraDocument *document = self->panel.document;
  guint n = document->data != NULL ? document->kept->len + 1 : 0;

  while (self->rows->len < n)
    add_row (self);
  while (self->rows->len > n)
    {
      gtk_box_remove (GTK_BOX (self->box),
                      g_array_index (self->rows, Row, self->rows->len - 1).grid);
      g_array_set_size (self->rows, self->rows->len - 1);
    }
  for (guint i = 0; i < n; i++)
    if (i == 0)
      show_reality (self, &g_array_index (self->rows, Row, 0));
    else
      show_plan (self, &g_array_index (self->rows, Row, i),
                 tessera_document_get_kept (document, i - 1));
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Plans *self = user;

  /* What is off says why; what is on, what it does. */
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PLANS))
    show_rows (self);
}

static void
plans_clear (gpointer plans)
{
  g_array_unref (((Plans *) plans)->rows);
}

GtkWidget *
tessera_plans_view_new (TesseraDocument *document)
{
  Plans *self =
      tessera_panel_new (sizeof *self, document, "plans-panel", 10, plans_clear);
  GtkWidget *title = tessera_heading_new ("Which stands where");
  GtkWidget *keep = tessera_button_new (
      "Keep this plan", "win.keep-plan", NULL, "small",
      "Keep the plan on the right under a name of its own, whatever is planned");

  gtk_widget_set_hexpand (title, TRUE);
  self->rows = g_array_new (FALSE, FALSE, sizeof (Row));
  self->box = tessera_named (tessera_column_new (8, NULL), "plans");
  tessera_panel_add (self, tessera_row_new (8, title, keep, NULL), self->box,
                     tessera_line_new (), handovers_new (document),
                     comparison_new (document), NULL);
  return tessera_panel_watch (self, on_changed);
}
