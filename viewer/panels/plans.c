/*
 * Several plans: those that are kept, and which stands on which side.
 *
 * A plan's row stays while it is kept: what is told in it is written anew, the focus
 * stays on its buttons. The row of a plan that went serves the one that came.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "db/plan.h"
#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

typedef struct
{
  const void *key; /* whose row it is: a TesseraKept, the document: PyTorch's; NULL:
                      nobody's; never followed */
  guint index;     /* of those kept, or TESSERA_NONE: PyTorch's layout */
  GtkWidget *grid;
  GtkWidget *title, *amount, *words;
  GtkWidget *sides[TESSERA_N_SIDES]; /* buttons, as is the next */
  GtkWidget *forget;
} Row;

#define TESSERA_TYPE_PLANS (tessera_plans_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraPlansView, tessera_plans_view, TESSERA, PLANS_VIEW, GtkBox)

struct _TesseraPlansView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *box;   /* of the rows */
  GPtrArray *rows;  /* Row, from the top */
  GtkWidget *on;    /* button */
  gboolean filling; /* buttons follow, they are not pressed */
};

G_DEFINE_TYPE (TesseraPlansView, tessera_plans_view, GTK_TYPE_BOX)

static char *
describe_plan (const TesseraKept *kept, uint64_t bound_bytes)
{
  const TesseraPlan *plan = kept->followed->plan;
  g_autoptr (GDateTime) made = g_date_time_new_from_unix_local (kept->made_s);
  g_autofree char *clock = g_date_time_format (made, "%H:%M");
  g_autofree char *gap =
      tessera_plan_is_optimal (plan)
          ? tessera_describe_gap (plan, bound_bytes)
          : g_strdup_printf ("+%.2f %%", MAX (100 * tessera_plan_gap (plan), 0.01));

  return g_strdup_printf ("%s · %s", gap, clock);
}

/* --- a row ------------------------------------------------------------------------ */

static void
set_active (TesseraPlansView *self, GtkWidget *button, gboolean active)
{
  self->filling = TRUE;
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (button), active);
  self->filling = FALSE;
}

static const Row *
row_of (GtkWidget *button)
{
  return g_object_get_data (G_OBJECT (button), "row");
}

static void
on_side (GtkToggleButton *button, TesseraPlansView *self)
{
  const Row *row = row_of (GTK_WIDGET (button));
  TesseraSide side = row->sides[TESSERA_SIDE_LEFT] == GTK_WIDGET (button)
                         ? TESSERA_SIDE_LEFT
                         : TESSERA_SIDE_RIGHT;

  if (self->filling)
    return;
  /* What stands there does not go by another press. */
  if (!gtk_toggle_button_get_active (button))
    set_active (self, GTK_WIDGET (button), TRUE);
  else if (row->index == TESSERA_NONE)
    tessera_document_set_left_kind (self->document, self->document->left_kind);
  else
    tessera_document_show_kept (self->document, side, row->index);
}

static void
on_forget (GtkButton *button, TesseraPlansView *self)
{
  tessera_document_forget_kept (self->document, row_of (GTK_WIDGET (button))->index);
}

static GtkWidget *
side_button_new (TesseraPlansView *self, Row *row, TesseraSide side)
{
  gboolean is_left = side == TESSERA_SIDE_LEFT;
  GtkWidget *button = gtk_toggle_button_new_with_label (is_left ? "Left" : "Right");

  gtk_widget_set_name (button, is_left ? "plan-left" : "plan-right");
  tessera_set_tip (button, is_left ? "Show it on the left" : "Show it on the right");
  gtk_widget_add_css_class (button, "small");
  g_object_set_data (G_OBJECT (button), "row", row);
  g_signal_connect (button, "toggled", G_CALLBACK (on_side), self);
  return button;
}

static GtkWidget *
forget_button_new (TesseraPlansView *self, Row *row)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("window-close-symbolic");

  gtk_widget_set_css_classes (button, (const char *[]){ "flat", "small", NULL });
  gtk_widget_set_name (button, "plan-forget");
  g_object_set_data (G_OBJECT (button), "row", row);
  g_signal_connect (button, "clicked", G_CALLBACK (on_forget), self);
  return button;
}

static Row *
row_new (TesseraPlansView *self)
{
  Row *row = g_new0 (Row, 1);
  GtkWidget *buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 4);

  row->grid = gtk_grid_new ();
  row->title = tessera_name_new ("plan-name", "strong", 2);
  row->amount = tessera_label_new ("", "figure");
  row->words = tessera_label_new ("", "quiet");
  gtk_widget_set_halign (buttons, GTK_ALIGN_END);
  gtk_widget_set_hexpand (row->title, TRUE);
  gtk_label_set_xalign (GTK_LABEL (row->amount), 1);
  gtk_grid_set_column_spacing (GTK_GRID (row->grid), 8);
  gtk_grid_set_row_spacing (GTK_GRID (row->grid), 2);
  gtk_grid_attach (GTK_GRID (row->grid), row->title, 0, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (row->grid), row->amount, 1, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (row->grid), row->words, 0, 1, 1, 1);
  gtk_grid_attach (GTK_GRID (row->grid), buttons, 1, 1, 1, 1);
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    {
      row->sides[side] = side_button_new (self, row, (TesseraSide) side);
      gtk_box_append (GTK_BOX (buttons), row->sides[side]);
    }
  row->forget = forget_button_new (self, row);
  gtk_box_append (GTK_BOX (buttons), row->forget);
  gtk_box_append (GTK_BOX (self->box), row->grid);
  return row;
}

/* @tip: of @facts. */
static void
write_row (Row *row, const char *name, uint64_t bytes, const char *facts, const char *tip)
{
  g_autofree char *height = tessera_describe_bytes (bytes);
  g_autofree char *forget = g_strdup_printf ("Forget the plan %s", name);

  tessera_name_set (row->title, name);
  tessera_set_tip (row->title, name);
  gtk_label_set_text (GTK_LABEL (row->amount), height);
  gtk_label_set_text (GTK_LABEL (row->words), facts);
  tessera_set_tip (row->words, tip);
  tessera_set_tip (row->forget, forget);
  tessera_set_accessible_label (row->forget, forget);
}

static void
show_reality (TesseraPlansView *self, Row *row)
{
  TesseraDocument *document = self->document;
  const TesseraLayout *layout;
  g_autofree char *name = NULL;

  row->index = TESSERA_NONE;
  gtk_widget_set_visible (row->sides[TESSERA_SIDE_RIGHT], FALSE);
  gtk_widget_set_visible (row->forget, FALSE);
  if (tessera_data_get_layout (document->data, document->data->own_kind, NULL, NULL,
                               &layout) != TESSERA_OK)
    return;
  name = g_strdup_printf ("%s, %s", tessera_layout_owner (layout),
                          tessera_layout_kind_name (layout->kind));
  write_row (row, name, layout->peak_reserved_bytes, "reserved",
             "The most that was reserved");
  set_active (self, row->sides[TESSERA_SIDE_LEFT], document->left_planned == NULL);
}

static void
show_plan (TesseraPlansView *self, Row *row, guint index)
{
  TesseraDocument *document = self->document;
  const TesseraKept *kept = tessera_document_get_kept (document, index);
  g_autofree char *facts = describe_plan (kept, tessera_document_bound (document));

  row->index = index;
  write_row (row, kept->name, kept->followed->plan->height_bytes, facts,
             "Height above the bound, and when it was made");
  set_active (self, row->sides[TESSERA_SIDE_LEFT],
              kept->followed == document->left_planned);
  set_active (self, row->sides[TESSERA_SIDE_RIGHT], kept->followed == document->planned);
}

/* --- all of them ------------------------------------------------------------------ */

/* Those of what is still there keep their keys; the others have none. */
static void
disown_rows (TesseraPlansView *self)
{
  TesseraDocument *document = self->document;

  for (guint i = 0; i < self->rows->len; i++)
    {
      Row *row = g_ptr_array_index (self->rows, i);
      gboolean is_there = row->key == document && document->data != NULL;

      for (guint k = 0; k < tessera_document_n_kept (document) && !is_there; k++)
        is_there = row->key == tessera_document_get_kept (document, k);
      if (!is_there)
        row->key = NULL;
    }
}

/* The row of @key, one of nobody, or a new one: at @position from now on. */
static Row *
take_row (TesseraPlansView *self, const void *key, guint position)
{
  Row *before = position > 0 ? g_ptr_array_index (self->rows, position - 1) : NULL;
  Row *row = NULL;
  guint at = self->rows->len;

  for (guint i = position; i < self->rows->len; i++)
    {
      const Row *other = g_ptr_array_index (self->rows, i);

      if (other->key == key)
        {
          at = i;
          break;
        }
      /* The first row is PyTorch's own, and lacks buttons. */
      if (other->key == NULL && at == self->rows->len && position > 0)
        at = i;
    }
  row = at < self->rows->len ? g_ptr_array_steal_index (self->rows, at) : row_new (self);
  row->key = key;
  g_ptr_array_insert (self->rows, (int) position, row);
  gtk_box_reorder_child_after (GTK_BOX (self->box), row->grid,
                               before != NULL ? before->grid : NULL);
  return row;
}

/* PyTorch's, then the plans, newest first. */
static void
refresh (TesseraPlansView *self)
{
  TesseraDocument *document = self->document;
  guint n_kept = document->data != NULL ? tessera_document_n_kept (document) : 0;
  guint n = document->data != NULL ? n_kept + 1 : 0;

  disown_rows (self);
  for (guint i = 0; i < n; i++)
    if (i == 0)
      show_reality (self, take_row (self, document, 0));
    else
      show_plan (self,
                 take_row (self, tessera_document_get_kept (document, n_kept - i), i),
                 n_kept - i);
  while (self->rows->len > n)
    {
      Row *row = g_ptr_array_index (self->rows, n);

      gtk_box_remove (GTK_BOX (self->box), row->grid);
      g_ptr_array_remove_index (self->rows, n);
    }
}

/* What is off says why; what is on, what it does. */
static void
tell_of_going_on (TesseraPlansView *self)
{
  const char *why = tessera_document_why_no_going_on (self->document);

  tessera_set_tip (self->on,
                   why != NULL
                       ? why
                       : "Go on from the plan on the right instead of anew: never "
                         "higher, and the same as tessera plan --resume makes of it");
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_EDITS |
              TESSERA_CHANGED_WORK))
    tell_of_going_on (user);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PLANS))
    refresh (user);
}

static void
tessera_plans_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_PLANS_VIEW (object)->document);
  g_clear_pointer (&TESSERA_PLANS_VIEW (object)->rows, g_ptr_array_unref);
  G_OBJECT_CLASS (tessera_plans_view_parent_class)->dispose (object);
}

static void
tessera_plans_view_class_init (TesseraPlansViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_plans_view_dispose;
}

static void
tessera_plans_view_init (TesseraPlansView *self)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *title = tessera_heading_new ("Which stands where");
  GtkWidget *keep = gtk_button_new_with_label ("Keep this plan");

  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 10);
  gtk_widget_set_hexpand (title, TRUE);
  gtk_actionable_set_action_name (GTK_ACTIONABLE (keep), "win.keep-plan");
  tessera_set_tip (
      keep, "Keep the plan on the right under a name of its own, whatever is planned");
  gtk_widget_add_css_class (keep, "small");
  self->on = gtk_button_new_with_label ("Plan on");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->on), "win.plan-on");
  gtk_widget_add_css_class (self->on, "small");
  gtk_widget_set_name (self->on, "plan-on");
  gtk_box_append (GTK_BOX (head), title);
  gtk_box_append (GTK_BOX (head), self->on);
  gtk_box_append (GTK_BOX (head), keep);
  self->rows = g_ptr_array_new_with_free_func (g_free);
  self->box = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8);
  gtk_widget_set_name (self->box, "plans");
  gtk_box_append (GTK_BOX (self), head);
  gtk_box_append (GTK_BOX (self), self->box);
}

GtkWidget *
tessera_plans_view_new (TesseraDocument *document)
{
  TesseraPlansView *self = g_object_new (TESSERA_TYPE_PLANS, NULL);

  self->document = g_object_ref (document);
  gtk_box_append (GTK_BOX (self), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (self), tessera_compare_view_new (document));
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
