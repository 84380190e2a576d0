/*
 * One side of the picture: title, lanes, canvas, ruler.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/canvas/private.h"

typedef struct
{
  TesseraPanel panel;
  TesseraSide side;
  GtkWidget *title;
  GtkWidget *subtitle;
  GtkWidget *spinner;
  GtkWidget *canvas;
  GtkWidget *cover; /* over the canvas while it has nothing to show */
  GtkWidget *cover_text;
  GtkWidget *progress;
  GtkWidget *plan_button;
  GtkWidget *cancel_button;
} Pane;

GtkWidget *
tessera_pane_get_canvas (GtkWidget *pane)
{
  return ((Pane *) tessera_panel_of (pane))->canvas;
}

/* Two panes beside panels have no width for more. */
static void
show_plan (Pane *self, const TesseraFollowed *planned)
{
  TesseraDocument *document = self->panel.document;
  const TesseraPlan *plan = planned->plan;
  const char *name = tessera_document_plan_name (document, planned);
  const char *edits = plan->n_edits > 0 ? TESSERA_COUNTED (plan->n_edits, "edit") : NULL;
  g_autofree char *gap =
      tessera_describe_above (planned, tessera_document_bound (document));
  g_autofree char *title = NULL, *made = NULL;

  /* Where several are there, which it is. */
  if (name == NULL || (document->kept->len < 2 && document->left_planned == NULL))
    name = edits;
  title = g_strconcat ("Plan", name != NULL ? ", " : NULL, name, NULL);
  tessera_name_set (self->title, title);
  tessera_label_set (self->subtitle, "%s%s%s%s%s", TESSERA_SIZE (planned->height_bytes),
                     g_ascii_isdigit (*gap) ? ", " : " ", gap,
                     planned->request.is_preview ? ", preview"
                     : plan->cut_short           ? ", cut short"
                     : plan->checked             ? ", checked"
                                                 : "",
                     plan->followable == TESSERA_FOLLOWABLE_NO && plan->lengths == NULL
                         ? ", not to be followed"
                         : "");
  made = planned->seconds > 0 ? g_strdup_printf ("Made in %.2f s", planned->seconds)
                              : g_strdup ("From a file");
  tessera_set_tip_of (
      self->subtitle, "%s%s%s%s%s%s", made, edits != NULL ? ", with " : "",
      edits != NULL ? edits : "",
      plan->cut_short ? "\nCut short: planning again makes the full plan" : "",
      plan->follow_reason != NULL && *plan->follow_reason != '\0' ? "\n" : "",
      plan->follow_reason != NULL ? plan->follow_reason : "");
}

static void
show_titles (Pane *self)
{
  TesseraDocument *document = self->panel.document;
  const TesseraSheet *sheet = document->sheets[self->side];
  const TesseraLayout *layout = sheet != NULL ? sheet->layout : NULL;
  g_autofree char *title =
      self->side == TESSERA_SIDE_LEFT
          ? g_strdup_printf ("%s, %s", tessera_layout_owner (layout),
                             tessera_layout_kind_name (document->left_kind))
          : g_strdup ("Plan");

  if (sheet != NULL && sheet->planned != NULL)
    {
      show_plan (self, sheet->planned);
      return;
    }
  tessera_name_set (self->title, title);
  tessera_set_tip (self->subtitle, NULL);
  if (layout == NULL)
    tessera_label_set (self->subtitle, "%s", "");
  else if (layout->n_ooms > 1)
    tessera_label_set (self->subtitle, "%s reserved, %zu requests failed",
                       TESSERA_SIZE (layout->peak_reserved_bytes), layout->n_ooms);
  else
    tessera_label_set (self->subtitle, "%s reserved%s",
                       TESSERA_SIZE (layout->peak_reserved_bytes),
                       layout->n_ooms > 0 ? ", died" : "");
}

static void
show_cover (Pane *self)
{
  TesseraDocument *document = self->panel.document;
  gboolean planning = document->jobs[TESSERA_WORK_PLAN] != NULL;
  gboolean empty = document->sheets[self->side] == NULL && document->data != NULL;

  gtk_widget_set_visible (self->cover, empty && self->side == TESSERA_SIDE_RIGHT);
  gtk_widget_set_visible (self->progress, planning);
  gtk_widget_set_visible (self->cancel_button, planning);
  gtk_widget_set_visible (self->plan_button, !planning);
  gtk_label_set_text (GTK_LABEL (self->cover_text),
                      planning ? "Planning…"
                               : "No plan yet. A plan lays the same blocks so that they "
                                 "need as little memory as they can.");
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->progress),
                                 document->fractions[TESSERA_WORK_PLAN]);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  Pane *self = user;
  gboolean working =
      document->jobs[TESSERA_WORK_SHEETS] != NULL ||
      (self->side == TESSERA_SIDE_RIGHT && document->jobs[TESSERA_WORK_PLAN] != NULL);

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_PLANS |
              TESSERA_CHANGED_VERDICT))
    show_titles (self);
  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_WORK)))
    return;
  show_cover (self);
  gtk_widget_set_visible (self->spinner, working);
  gtk_spinner_set_spinning (GTK_SPINNER (self->spinner), working);
}

static GtkWidget *
cover_new (Pane *self)
{
  GtkWidget *box;

  self->cover_text = gtk_label_new ("");
  g_object_set (self->cover_text, "wrap", TRUE, "max-width-chars", 32, "justify",
                GTK_JUSTIFY_CENTER, NULL);
  self->progress = gtk_progress_bar_new ();
  gtk_widget_set_size_request (self->progress, 180, -1);
  tessera_set_accessible_label (self->progress, "Planning");
  self->plan_button =
      tessera_button_new ("Plan", "win.plan", NULL, "suggested-action", NULL);
  self->cancel_button = tessera_button_new ("Stop", "win.cancel", NULL, NULL, NULL);
  gtk_widget_set_halign (self->plan_button, GTK_ALIGN_CENTER);
  gtk_widget_set_halign (self->cancel_button, GTK_ALIGN_CENTER);
  box = tessera_column_new (12, self->cover_text, self->progress, self->plan_button,
                            self->cancel_button, NULL);
  g_object_set (box, "halign", GTK_ALIGN_CENTER, "valign", GTK_ALIGN_CENTER, NULL);
  return box;
}

static GtkWidget *
head_new (Pane *self)
{
  gboolean is_left = self->side == TESSERA_SIDE_LEFT;
  GtkWidget *words;

  self->title =
      tessera_name_new (is_left ? "title-left" : "title-right", "pane-title", 1);
  self->subtitle = tessera_named (tessera_label_new ("", "quiet"),
                                  is_left ? "subtitle-left" : "subtitle-right");
  self->spinner = gtk_spinner_new ();
  /* Below each other: two panes beside panels have no width for more. */
  words = tessera_column_new (0, self->title, self->subtitle, NULL);
  gtk_widget_set_hexpand (words, TRUE);
  return tessera_row_new (8, words, self->spinner, NULL);
}

GtkWidget *
tessera_pane_new (TesseraDocument *document, TesseraSide side)
{
  Pane *self = tessera_panel_new (sizeof *self, document, "pane", 4, NULL);
  GtkWidget *overlay = gtk_overlay_new ();

  self->side = side;
  self->canvas = tessera_canvas_new (document, side);
  self->cover = cover_new (self);
  gtk_overlay_set_child (GTK_OVERLAY (overlay), self->canvas);
  gtk_overlay_add_overlay (GTK_OVERLAY (overlay), self->cover);
  tessera_panel_add (self, head_new (self), tessera_lanes_new (document), overlay,
                     tessera_ruler_new (document), NULL);
  return tessera_panel_watch (self, on_changed);
}
