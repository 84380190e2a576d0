/*
 * The line at the bottom: the chosen moment in words, and what is being worked on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

#define TESSERA_TYPE_STATUS (tessera_status_bar_get_type ())
G_DECLARE_FINAL_TYPE (TesseraStatusBar, tessera_status_bar, TESSERA, STATUS_BAR, GtkBox)

struct _TesseraStatusBar
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *moment;
  GtkWidget *work;
  GtkWidget *progress;
  GtkWidget *cancel;
};

G_DEFINE_TYPE (TesseraStatusBar, tessera_status_bar, GTK_TYPE_BOX)

static void
show_moment (TesseraStatusBar *self)
{
  TesseraDocument *document = self->document;
  const TesseraSheet *sheet = document->sheets[TESSERA_SIDE_LEFT];
  g_autofree char *event = tessera_describe_count (document->moment);
  g_autofree char *moment = NULL, *live = NULL, *reserved = NULL;
  g_autofree char *text = NULL;

  if (sheet == NULL || document->moment >= sheet->layout->n_events)
    {
      gtk_label_set_text (GTK_LABEL (self->moment), "");
      return;
    }
  moment = tessera_describe_moment (document->data, document->moment);
  live = tessera_describe_bytes (sheet->layout->curves.live_bytes[document->moment]);
  reserved =
      tessera_describe_bytes (sheet->layout->curves.reserved_bytes[document->moment]);
  text = g_strdup_printf ("Event %s%s%s · live %s, reserved %s", event,
                          *moment != '\0' ? " · " : "", moment, live, reserved);
  tessera_name_set (self->moment, text);
  tessera_set_tip (self->moment, text);
}

/* What the planner has while it works. */
static void
show_news (TesseraStatusBar *self, int work, const char *name)
{
  TesseraJob *job = self->document->jobs[work];
  TesseraNews news = tessera_job_news (job);
  g_autofree char *text = tessera_describe_news (&news);
  const char *stop = "Stop";

  if (text != NULL)
    {
      g_autofree char *both = g_strdup_printf ("%s: %s", name, text);

      gtk_label_set_text (GTK_LABEL (self->work), both);
      stop = "Stop, and keep the best plan so far";
    }
  else
    gtk_label_set_text (GTK_LABEL (self->work), name);
  tessera_set_tip (self->cancel, stop);
}

static void
show_work (TesseraStatusBar *self)
{
  static const char *const names[TESSERA_WORK_MOMENT] = { "Opening", "Simulating",
                                                          "Planning", "Smallest device…",
                                                          "Writing" };
  TesseraDocument *document = self->document;
  int work = 0;

  while (work < TESSERA_WORK_MOMENT && document->jobs[work] == NULL)
    work++;
  gtk_widget_set_visible (self->work, work < TESSERA_WORK_MOMENT);
  gtk_widget_set_visible (self->progress, work < TESSERA_WORK_MOMENT);
  gtk_widget_set_visible (self->cancel, work < TESSERA_WORK_MOMENT);
  if (work == TESSERA_WORK_MOMENT)
    return;
  show_news (self, work, names[work]);
  gtk_progress_bar_set_fraction (GTK_PROGRESS_BAR (self->progress),
                                 document->fractions[work]);
  tessera_set_accessible_label (self->progress, names[work]);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraStatusBar *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_SHEETS))
    show_moment (self);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_WORK))
    show_work (self);
}

static void
tessera_status_bar_dispose (GObject *object)
{
  g_clear_object (&TESSERA_STATUS_BAR (object)->document);
  G_OBJECT_CLASS (tessera_status_bar_parent_class)->dispose (object);
}

static void
tessera_status_bar_class_init (TesseraStatusBarClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_status_bar_dispose;
}

static void
tessera_status_bar_init (TesseraStatusBar *self)
{
  self->moment = tessera_name_new ("moment", "quiet", 2);
  gtk_widget_set_hexpand (self->moment, TRUE);
  self->work = tessera_label_new ("", "quiet");
  gtk_widget_set_name (self->work, "work");
  self->progress = gtk_progress_bar_new ();
  gtk_widget_set_valign (self->progress, GTK_ALIGN_CENTER);
  gtk_widget_set_size_request (self->progress, 80, -1);
  self->cancel = gtk_button_new_from_icon_name ("tessera-stop-symbolic");
  gtk_actionable_set_action_name (GTK_ACTIONABLE (self->cancel), "win.cancel");
  tessera_set_tip (self->cancel, "Stop");
  tessera_set_accessible_label (self->cancel, "Stop");
  gtk_widget_set_css_classes (self->cancel, (const char *[]){ "flat", "small", NULL });
  gtk_box_append (GTK_BOX (self), self->moment);
  gtk_box_append (GTK_BOX (self), self->work);
  gtk_box_append (GTK_BOX (self), self->progress);
  gtk_box_append (GTK_BOX (self), self->cancel);
  gtk_box_set_spacing (GTK_BOX (self), 8);
  gtk_widget_add_css_class (GTK_WIDGET (self), "status");
}

GtkWidget *
tessera_status_bar_new (TesseraDocument *document)
{
  TesseraStatusBar *self = g_object_new (TESSERA_TYPE_STATUS, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
