/*
 * Several plans: those that are kept, and which stands on which side.
 *
 * The list is made anew when it changes; it holds a handful. The focus stays on the
 * button of the same name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/plans.h"

#include "db/proof.h"
#include "viewer/document/describe.h"
#include "viewer/document/document-plans.h"
#include "viewer/panels/compare.h"
#include "viewer/window/ui.h"

struct _TesseraPlansView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *rows;
  GtkWidget *on;    /* button */
  char *shown;      /* what the rows tell, as one text */
  gboolean filling; /* buttons follow, they are not pressed */
};

G_DEFINE_TYPE (TesseraPlansView, tessera_plans_view, GTK_TYPE_BOX)

static char *
describe_plan (const TesseraKept *kept, uint64_t load_bound_bytes)
{
  const TesseraPlan *plan = kept->followed->plan;
  g_autoptr (GDateTime) made = g_date_time_new_from_unix_local (kept->made_s);
  g_autofree char *clock = g_date_time_format (made, "%H:%M");
  g_autofree char *gap =
      tessera_plan_is_optimal (plan)
          ? tessera_describe_gap (plan, load_bound_bytes)
          : g_strdup_printf ("+%.2f %%", MAX (100 * tessera_plan_gap (plan), 0.01));

  return g_strdup_printf ("%s · %s", gap, clock);
}

/* --- sides ------------------------------------------------------------------------ */

static void
on_side (GtkToggleButton *button, TesseraPlansView *self)
{
  guint index = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "index"));
  guint side = GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "side"));

  if (self->filling)
    return;
  /* What stands there does not go by another press. */
  if (!gtk_toggle_button_get_active (button))
    {
      self->filling = TRUE;
      gtk_toggle_button_set_active (button, TRUE);
      self->filling = FALSE;
    }
  else if (index == TESSERA_NONE)
    tessera_document_set_left_kind (self->document, self->document->left_kind);
  else
    tessera_document_show_kept (self->document, (TesseraSide) side, index);
}

/* @index: of those kept, or TESSERA_NONE: PyTorch's layout. */
static GtkWidget *
side_button_new (TesseraPlansView *self,
                 TesseraSide side,
                 guint index,
                 gboolean stands_there)
{
  const char *word = side == TESSERA_SIDE_LEFT ? "Left" : "Right";
  GtkWidget *button = gtk_toggle_button_new_with_label (word);
  g_autofree char *name = g_strdup_printf ("plan-%s-%d", word, (int) index);
  g_autofree char *tip =
      g_strdup_printf ("Show it on the %s", side == TESSERA_SIDE_LEFT ? "left" : "right");

  gtk_widget_set_name (button, name);
  tessera_set_tip (button, tip);
  gtk_widget_add_css_class (button, "small");
  g_object_set_data (G_OBJECT (button), "index", GUINT_TO_POINTER (index));
  g_object_set_data (G_OBJECT (button), "side", GUINT_TO_POINTER (side));
  gtk_toggle_button_set_active (GTK_TOGGLE_BUTTON (button), stands_there);
  g_signal_connect (button, "toggled", G_CALLBACK (on_side), self);
  return button;
}

/* --- rows ------------------------------------------------------------------------- */

static void
on_forget (GtkButton *button, TesseraPlansView *self)
{
  tessera_document_forget_kept (
      self->document, GPOINTER_TO_UINT (g_object_get_data (G_OBJECT (button), "index")));
}

static GtkWidget *
forget_button_new (TesseraPlansView *self, guint index, const char *plan)
{
  GtkWidget *button = gtk_button_new_from_icon_name ("window-close-symbolic");
  g_autofree char *tip = g_strdup_printf ("Forget the plan %s", plan);

  gtk_widget_set_css_classes (button, (const char *[]){ "flat", "small", NULL });
  tessera_set_tip (button, tip);
  tessera_set_accessible_label (button, tip);
  g_object_set_data (G_OBJECT (button), "index", GUINT_TO_POINTER (index));
  g_signal_connect (button, "clicked", G_CALLBACK (on_forget), self);
  return button;
}

static GtkWidget *
row_new (const char *name,
         uint64_t bytes,
         const char *facts,
         const char *tip,
         GtkWidget **out_buttons)
{
  GtkWidget *grid = gtk_grid_new ();
  g_autofree char *height = tessera_describe_bytes (bytes);
  GtkWidget *title = tessera_name_new ("plan-name", "strong", 2);
  GtkWidget *amount = tessera_label_new (height, "figure");
  GtkWidget *words = tessera_label_new (facts, "quiet");

  *out_buttons = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 4);
  gtk_widget_set_halign (*out_buttons, GTK_ALIGN_END);
  gtk_widget_set_hexpand (title, TRUE);
  tessera_name_set (title, name);
  tessera_set_tip (title, name);
  tessera_set_tip (words, tip);
  gtk_label_set_xalign (GTK_LABEL (amount), 1);
  gtk_grid_set_column_spacing (GTK_GRID (grid), 8);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 2);
  gtk_grid_attach (GTK_GRID (grid), title, 0, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), amount, 1, 0, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), words, 0, 1, 1, 1);
  gtk_grid_attach (GTK_GRID (grid), *out_buttons, 1, 1, 1, 1);
  return grid;
}

static void
add_reality (TesseraPlansView *self)
{
  TesseraDocument *document = self->document;
  const TesseraLayout *layout;
  GtkWidget *buttons, *row;
  g_autofree char *name = NULL;

  if (tessera_data_get_layout (document->data, document->data->own_kind, NULL, NULL,
                               &layout) != TESSERA_OK)
    return;
  name = g_strdup_printf ("%s, %s", tessera_layout_owner (layout),
                          tessera_layout_kind_name (layout->kind));
  row = row_new (name, layout->peak_reserved_bytes, "reserved",
                 "The most that was reserved", &buttons);
  gtk_box_append (GTK_BOX (buttons),
                  side_button_new (self, TESSERA_SIDE_LEFT, TESSERA_NONE,
                                   document->left_planned == NULL));
  gtk_box_append (GTK_BOX (self->rows), row);
}

static void
add_plan (TesseraPlansView *self, guint index)
{
  TesseraDocument *document = self->document;
  const TesseraKept *kept = tessera_document_get_kept (document, index);
  g_autofree char *facts = describe_plan (kept, self->document->data->bound_bytes);
  GtkWidget *buttons;
  GtkWidget *row = row_new (kept->name, kept->followed->plan->height_bytes, facts,
                            "Height above the bound, and when it was made", &buttons);

  gtk_box_append (GTK_BOX (buttons),
                  side_button_new (self, TESSERA_SIDE_LEFT, index,
                                   kept->followed == document->left_planned));
  gtk_box_append (GTK_BOX (buttons),
                  side_button_new (self, TESSERA_SIDE_RIGHT, index,
                                   kept->followed == document->planned));
  gtk_box_append (GTK_BOX (buttons), forget_button_new (self, index, kept->name));
  gtk_box_append (GTK_BOX (self->rows), row);
}

static GtkWidget *
find_named (GtkWidget *root, const char *name)
{
  GtkWidget *found = g_strcmp0 (gtk_widget_get_name (root), name) == 0 ? root : NULL;

  for (GtkWidget *child = gtk_widget_get_first_child (root);
       child != NULL && found == NULL; child = gtk_widget_get_next_sibling (child))
    found = find_named (child, name);
  return found;
}

/* All that the rows are made of: the same text, the same rows. */
static char *
describe_rows (TesseraDocument *document)
{
  const TesseraLayout *layout = NULL;
  GString *text = g_string_new (NULL);

  if (document->data == NULL)
    return g_string_free (text, FALSE);
  if (tessera_data_get_layout (document->data, document->data->own_kind, NULL, NULL,
                               &layout) == TESSERA_OK)
    g_string_append_printf (text, "%s %d %" G_GUINT64_FORMAT " %d",
                            tessera_layout_owner (layout), (int) layout->kind,
                            layout->peak_reserved_bytes, document->left_planned == NULL);
  for (guint i = 0; i < tessera_document_n_kept (document); i++)
    {
      const TesseraKept *kept = tessera_document_get_kept (document, i);
      g_autofree char *facts = describe_plan (kept, document->data->bound_bytes);

      g_string_append_printf (text, "\n%s %" G_GUINT64_FORMAT " %s %d %d", kept->name,
                              kept->followed->plan->height_bytes, facts,
                              kept->followed == document->left_planned,
                              kept->followed == document->planned);
    }
  return g_string_free (text, FALSE);
}

static void
rebuild (TesseraPlansView *self)
{
  char *shown = describe_rows (self->document);
  GtkRoot *root = gtk_widget_get_root (GTK_WIDGET (self));
  GtkWidget *focus = root != NULL ? gtk_root_get_focus (root) : NULL;
  g_autofree char *name = focus != NULL && gtk_widget_is_ancestor (focus, self->rows)
                              ? g_strdup (gtk_widget_get_name (focus))
                              : NULL;
  gboolean is_same = g_strcmp0 (shown, self->shown) == 0;

  g_free (self->shown);
  self->shown = shown;
  if (is_same)
    return;
  self->filling = TRUE;
  tessera_remove_children (self->rows);
  if (self->document->data != NULL)
    {
      add_reality (self);
      for (guint i = tessera_document_n_kept (self->document); i-- > 0;)
        add_plan (self, i);
    }
  self->filling = FALSE;
  focus = name != NULL ? find_named (self->rows, name) : NULL;
  if (focus != NULL)
    gtk_widget_grab_focus (focus);
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
    rebuild (user);
}

static void
tessera_plans_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_PLANS_VIEW (object)->document);
  g_clear_pointer (&TESSERA_PLANS_VIEW (object)->shown, g_free);
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
  self->rows = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8);
  gtk_widget_set_name (self->rows, "plans");
  gtk_box_append (GTK_BOX (self), head);
  gtk_box_append (GTK_BOX (self), self->rows);
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
