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

static char *
left_subtitle (const TesseraLayout *layout)
{
  const char *reserved = TESSERA_SIZE (layout->peak_reserved_bytes);

  return layout->n_ooms == 0   ? g_strdup_printf ("%s reserved", reserved)
         : layout->n_ooms == 1 ? g_strdup_printf ("%s reserved, died", reserved)
                               : g_strdup_printf ("%s reserved, %zu requests failed",
                                                  reserved, layout->n_ooms);
}

/* Two panes beside panels have no width for more. */
static char *
right_subtitle (const TesseraFollowed *planned, uint64_t bound_bytes)
{
  const TesseraPlan *plan = planned->plan;
  g_autofree char *gap = tessera_describe_gap (plan, bound_bytes);
  GString *text = g_string_new (NULL);

  g_string_append_printf (text, "%s%s%s", TESSERA_SIZE (plan->height_bytes),
                          g_ascii_isdigit (*gap) ? ", " : " ", gap);
  if (planned->request.is_preview)
    g_string_append (text, ", preview");
  else if (plan->cut_short != TESSERA_CUT_NOT)
    g_string_append (text, ", cut short");
  else if (plan->checked)
    g_string_append (text, ", checked");
  if (plan->followable == TESSERA_FOLLOWABLE_NO)
    g_string_append (text, ", not to be followed");
  return g_string_free (text, FALSE);
}

static char *
right_tooltip (const TesseraFollowed *planned)
{
  const TesseraPlan *plan = planned->plan;
  GString *text = g_string_new (NULL);

  if (planned->seconds > 0)
    g_string_append_printf (text, "Made in %.2f s", planned->seconds);
  else
    g_string_append (text, "From a file");
  if (plan->n_edits > 0)
    g_string_append_printf (text, ", with %s", TESSERA_COUNTED (plan->n_edits, "edit"));
  if (plan->cut_short != TESSERA_CUT_NOT)
    g_string_append (text, "\nCut short: planning again makes the full plan");
  if (plan->follow_reason != NULL && *plan->follow_reason != '\0')
    g_string_append_printf (text, "\n%s", plan->follow_reason);
  return g_string_free (text, FALSE);
}

static char *
left_title (TesseraDocument *document)
{
  const TesseraSheet *sheet = document->sheets[TESSERA_SIDE_LEFT];

  return g_strdup_printf ("%s, %s",
                          tessera_layout_owner (sheet != NULL ? sheet->layout : NULL),
                          tessera_layout_kind_name (document->left_kind));
}

/* Where several are there, which it is. */
static char *
plan_title (TesseraDocument *document, const TesseraFollowed *planned)
{
  const char *name = tessera_document_plan_name (document, planned);

  if (name == NULL || (document->kept->len < 2 && document->left_planned == NULL))
    return planned->plan->n_edits > 0
               ? g_strdup_printf ("Plan, %s",
                                  TESSERA_COUNTED (planned->plan->n_edits, "edit"))
               : g_strdup ("Plan");
  return g_strdup_printf ("Plan, %s", name);
}

static void
show_titles (Pane *self)
{
  const TesseraSheet *sheet = self->panel.document->sheets[self->side];
  g_autofree char *subtitle = NULL, *tooltip = NULL;
  g_autofree char *title = sheet != NULL && sheet->planned != NULL
                               ? plan_title (self->panel.document, sheet->planned)
                           : self->side == TESSERA_SIDE_LEFT
                               ? left_title (self->panel.document)
                               : g_strdup ("Plan");
  if (sheet == NULL)
    subtitle = g_strdup ("");
  else
    subtitle = sheet->planned == NULL
                   ? left_subtitle (sheet->layout)
                   : right_subtitle (sheet->planned,
                                     tessera_document_bound (self->panel.document));
  if (sheet != NULL && sheet->planned != NULL)
    tooltip = right_tooltip (sheet->planned);
  tessera_name_set (self->title, title);
  gtk_label_set_text (GTK_LABEL (self->subtitle), subtitle);
  tessera_set_tip (self->subtitle, tooltip);
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
