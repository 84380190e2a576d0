/*
 * How what stands on the left and on the right differ.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "db/plan.h"
#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

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

#define TESSERA_TYPE_COMPARE (tessera_compare_view_get_type ())
G_DECLARE_FINAL_TYPE (
    TesseraCompareView, tessera_compare_view, TESSERA, COMPARE_VIEW, GtkBox)

struct _TesseraCompareView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *facts[N_FACTS][TESSERA_N_SIDES];
  GtkWidget *hint;
  GtkWidget *differences; /* of two plans */
  GtkWidget *counts[N_COUNTS];
  GtkWidget *bytes[N_COUNTS];
  GtkWidget *select;
  GtkWidget *head;
  GtkWidget *rows[N_MOVED]; /* buttons */
  GtkWidget *sizes[N_MOVED];
  GtkWidget *places[N_MOVED];
};

G_DEFINE_TYPE (TesseraCompareView, tessera_compare_view, GTK_TYPE_BOX)

static const char *const fact_names[N_FACTS] = { "height", "above bound", "hits",
                                                 "misses" };
static const char *const count_names[N_COUNTS] = { "same", "moved", "left only",
                                                   "right only" };

static void
set_fact (TesseraCompareView *self, int fact, int side, char *text)
{
  gtk_label_set_text (GTK_LABEL (self->facts[fact][side]), text != NULL ? text : "–");
  g_free (text);
}

static char *
describe_misses (const TesseraLayout *layout)
{
  g_autofree char *all = tessera_describe_count (layout->n_misses);
  g_autofree char *planned = tessera_describe_count (layout->n_planned_misses);

  return layout->n_planned_misses > 0 ? g_strdup_printf ("%s (%s planned)", all, planned)
                                      : g_steal_pointer (&all);
}

static void
show_side (TesseraCompareView *self, int side)
{
  const TesseraSheet *sheet = self->document->sheets[side];
  uint64_t bound = tessera_document_bound (self->document), height;

  if (sheet == NULL)
    {
      for (int fact = 0; fact < N_FACTS; fact++)
        set_fact (self, fact, side, NULL);
      return;
    }
  height = sheet->planned != NULL ? sheet->planned->plan->height_bytes
                                  : sheet->layout->peak_reserved_bytes;
  if (sheet->planned != NULL)
    bound = tessera_plan_proven_bound (sheet->planned->plan);
  set_fact (self, HEIGHT, side, tessera_describe_bytes (height));
  set_fact (
      self, ABOVE, side,
      g_strdup_printf ("%.1f %%", 100 * ((double) height / (double) MAX (bound, 1) - 1)));
  set_fact (self, HITS, side,
            sheet->layout->is_hit != NULL ? tessera_describe_count (sheet->layout->n_hits)
                                          : NULL);
  set_fact (self, MISSES, side,
            sheet->layout->is_hit != NULL ? describe_misses (sheet->layout) : NULL);
}

static void
set_count (TesseraCompareView *self, int which, size_t n, uint64_t n_bytes)
{
  g_autofree char *count = tessera_describe_count (n);
  g_autofree char *bytes = tessera_describe_bytes (n_bytes);

  gtk_label_set_text (GTK_LABEL (self->counts[which]), count);
  gtk_label_set_text (GTK_LABEL (self->bytes[which]), bytes);
}

static void
show_moved (TesseraCompareView *self, size_t row)
{
  const TesseraMovedBlock *move = &self->document->comparison->moves[row];
  g_autofree char *size = tessera_describe_bytes (move->block_bytes);
  g_autofree char *from = tessera_describe_bytes (move->offset_bytes[0]);
  g_autofree char *to = tessera_describe_bytes (move->offset_bytes[1]);
  gboolean up = move->offset_bytes[1] > move->offset_bytes[0];
  g_autofree char *by =
      tessera_describe_bytes (up ? move->offset_bytes[1] - move->offset_bytes[0]
                                 : move->offset_bytes[0] - move->offset_bytes[1]);
  /* By less than what is told of both. */
  g_autofree char *place =
      g_str_equal (from, to) ? g_strdup_printf ("%s, %s %s", from, up ? "up" : "down", by)
                             : g_strdup_printf ("%s → %s", from, to);

  gtk_label_set_text (GTK_LABEL (self->sizes[row]), size);
  gtk_label_set_text (GTK_LABEL (self->places[row]), place);
  tessera_set_tip (self->rows[row], place);
}

static void
show_differences (TesseraCompareView *self)
{
  const TesseraComparison *c = self->document->comparison;

  set_count (self, SAME, c->n_same, c->same_bytes);
  set_count (self, MOVED, c->n_moved, c->moved_bytes);
  set_count (self, ONLY_LEFT, c->n_only[0], c->only_bytes[0]);
  set_count (self, ONLY_RIGHT, c->n_only[1], c->only_bytes[1]);
  gtk_widget_set_sensitive (self->select, self->document->difference != NULL);
  gtk_widget_set_visible (self->head, c->n_moved > 0);
  for (size_t i = 0; i < N_MOVED; i++)
    {
      gtk_widget_set_visible (self->rows[i], i < c->n_moved);
      if (i < c->n_moved)
        show_moved (self, i);
    }
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraCompareView *self = user;
  gboolean both = document->left_planned != NULL && document->planned != NULL;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PLANS)))
    return;
  gtk_widget_set_visible (GTK_WIDGET (self), document->data != NULL);
  if (document->data == NULL)
    return;
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    show_side (self, side);
  gtk_widget_set_visible (self->hint, !both);
  gtk_widget_set_visible (self->differences, both && document->comparison != NULL);
  if (document->comparison != NULL)
    show_differences (self);
}

static void
on_clicked (GtkButton *row, TesseraCompareView *self)
{
  const TesseraComparison *c = self->document->comparison;

  for (size_t i = 0; c != NULL && i < MIN (N_MOVED, c->n_moved); i++)
    if (self->rows[i] == GTK_WIDGET (row))
      {
        uint32_t block = c->moves[i].block;

        tessera_document_select (self->document, block);
        tessera_document_reveal (self->document, block);
        return;
      }
}

/* --- life ------------------------------------------------------------------------- */

static void
tessera_compare_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_COMPARE_VIEW (object)->document);
  G_OBJECT_CLASS (tessera_compare_view_parent_class)->dispose (object);
}

static void
tessera_compare_view_class_init (TesseraCompareViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_compare_view_dispose;
}

static GtkWidget *
number_new (const char *name)
{
  GtkWidget *label = tessera_label_new ("", "figure");

  gtk_label_set_xalign (GTK_LABEL (label), 1);
  gtk_widget_set_hexpand (label, TRUE);
  gtk_widget_set_name (label, name);
  return label;
}

static GtkWidget *
name_new (const char *name)
{
  GtkWidget *label = tessera_label_new (name, "quiet");

  return label;
}

static GtkWidget *
facts_new (TesseraCompareView *self)
{
  static const char *const sides[] = { "left", "right" };
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 4);
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      GtkWidget *head = name_new (sides[side]);

      gtk_label_set_xalign (GTK_LABEL (head), 1);
      gtk_grid_attach (GTK_GRID (grid), head, side + 1, 0, 1, 1);
      for (int fact = 0; fact < N_FACTS; fact++)
        {
          g_autofree char *name =
              g_strdup_printf ("compare-%s-%s", fact_names[fact], sides[side]);

          self->facts[fact][side] = number_new (name);
          gtk_grid_attach (GTK_GRID (grid), self->facts[fact][side], side + 1, fact + 1,
                           1, 1);
        }
    }
  for (int fact = 0; fact < N_FACTS; fact++)
    gtk_grid_attach (GTK_GRID (grid), name_new (fact_names[fact]), 0, fact + 1, 1, 1);
  return grid;
}

static GtkWidget *
counts_new (TesseraCompareView *self)
{
  GtkWidget *grid = gtk_grid_new ();
  GtkWidget *blocks = name_new ("blocks"), *bytes = name_new ("bytes");

  gtk_label_set_xalign (GTK_LABEL (blocks), 1);
  gtk_label_set_xalign (GTK_LABEL (bytes), 1);
  gtk_grid_attach (GTK_GRID (grid), blocks, 1, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), bytes, 2, 0, 1, 1);

  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 4);
  for (int i = 0; i < N_COUNTS; i++)
    {
      g_autofree char *name = g_strdup_printf ("compare-%s", count_names[i]);

      self->counts[i] = number_new (name);
      self->bytes[i] = number_new ("");
      gtk_grid_attach (GTK_GRID (grid), name_new (count_names[i]), 0, i + 1, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->counts[i], 1, i + 1, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->bytes[i], 2, i + 1, 1, 1);
    }
  return grid;
}

static GtkWidget *
moved_row_new (TesseraCompareView *self, int row)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 10);

  self->sizes[row] = tessera_label_new ("", "figure");
  self->places[row] = tessera_label_new ("", "quiet figure");
  gtk_label_set_width_chars (GTK_LABEL (self->sizes[row]), 9);
  gtk_label_set_xalign (GTK_LABEL (self->sizes[row]), 1);
  gtk_widget_set_hexpand (self->places[row], TRUE);
  gtk_box_append (GTK_BOX (box), self->sizes[row]);
  gtk_box_append (GTK_BOX (box), self->places[row]);
  self->rows[row] = gtk_button_new ();
  gtk_button_set_child (GTK_BUTTON (self->rows[row]), box);
  gtk_widget_set_css_classes (self->rows[row],
                              (const char *[]){ "flat", "small", "legend-row", NULL });
  g_signal_connect (self->rows[row], "clicked", G_CALLBACK (on_clicked), self);
  return self->rows[row];
}

static GtkWidget *
differences_new (TesseraCompareView *self)
{
  GtkWidget *box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8);
  GtkWidget *buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 6);
  GtkWidget *show = gtk_toggle_button_new_with_label ("Show what moved");
  GtkWidget *list = gtk_box_new (GTK_ORIENTATION_VERTICAL, 0);

  self->select = gtk_button_new_with_label ("Select it");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (show), "win.difference");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->select), "win.select-difference");
  tessera_set_tip (show,
                   "Light up what lies elsewhere, dim what lies at the same offset (x)");
  tessera_set_tip (self->select, "Select all blocks that lie elsewhere");
  gtk_widget_add_css_class (show, "small");
  gtk_widget_add_css_class (self->select, "small");
  gtk_box_append (GTK_BOX (buttons), show);
  gtk_box_append (GTK_BOX (buttons), self->select);
  self->head = tessera_heading_new ("Largest that moved");
  gtk_widget_set_margin_bottom (self->head, 4);
  gtk_box_append (GTK_BOX (list), self->head);
  for (int i = 0; i < N_MOVED; i++)
    gtk_box_append (GTK_BOX (list), moved_row_new (self, i));
  gtk_box_append (GTK_BOX (box), counts_new (self));
  gtk_box_append (GTK_BOX (box), buttons);
  gtk_box_append (GTK_BOX (box), list);
  return box;
}

static void
tessera_compare_view_init (TesseraCompareView *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 10);
  self->hint = tessera_sentence_new (
      "To see what moved, put a plan on the left as well: PyTorch's addresses are not "
      "offsets of a pool.",
      "quiet");
  self->differences = differences_new (self);
  gtk_box_append (GTK_BOX (self), tessera_heading_new ("Compared"));
  gtk_box_append (GTK_BOX (self), facts_new (self));
  gtk_box_append (GTK_BOX (self), self->hint);
  gtk_box_append (GTK_BOX (self), self->differences);
}

GtkWidget *
tessera_compare_view_new (TesseraDocument *document)
{
  TesseraCompareView *self = g_object_new (TESSERA_TYPE_COMPARE, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
