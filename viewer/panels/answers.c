/*
 * What to do about the memory: what `tessera info` ends with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

#include "cli/command.h"

/* Of "Copy" and "Copied": nothing moves when it is pressed. */
#define COPY_CHARS 6

typedef struct
{
  TesseraPanel panel;
  GtkWidget *rows; /* a suggestion each */
  char *words;     /* that they have */
} Answers;

static void
clear_answers (gpointer user)
{
  g_free (((Answers *) user)->words);
}

/* One row at most says that it is what the clipboard has. */
static void
on_copy (GtkButton *button, const char *text)
{
  GtkWidget *head = gtk_widget_get_parent (GTK_WIDGET (button));
  GtkWidget *rows = gtk_widget_get_parent (gtk_widget_get_parent (head));

  for (GtkWidget *row = gtk_widget_get_first_child (rows); row != NULL;
       row = gtk_widget_get_next_sibling (row))
    gtk_button_set_label (
        GTK_BUTTON (gtk_widget_get_last_child (gtk_widget_get_first_child (row))),
        "Copy");
  gdk_clipboard_set_text (gtk_widget_get_clipboard (GTK_WIDGET (button)), text);
  gtk_button_set_label (button, "Copied");
}

/* A person pastes what they have read: control characters are shown, and copied as shown. */
static GtkWidget *
copy_button_new (const char *text)
{
  g_autofree char *name = g_strconcat ("Copy: ", text, NULL);
  GtkWidget *button = tessera_button_new ("Copy", NULL, "to-do-copy", "small", name);

  gtk_label_set_width_chars (GTK_LABEL (gtk_button_get_child (GTK_BUTTON (button))),
                             COPY_CHARS);
  gtk_widget_set_valign (button, GTK_ALIGN_START);
  tessera_set_accessible_label (button, name);
  g_signal_connect_data (button, "clicked", G_CALLBACK (on_copy), g_strdup (text),
                         (GClosureNotify) (void (*) (void)) g_free, 0);
  return button;
}

static void
add_suggestion (Answers *self, const TesseraSuggestion *suggestion)
{
  g_autofree char *sentence = g_strdup (cli_shown (suggestion->sentence));
  g_autofree char *text = g_strdup (cli_shown (suggestion->type));
  GtkWidget *title = tessera_named (tessera_sentence_new ("", "strong"), "to-do-wins");
  GtkWidget *why = tessera_name_new ("to-do-why", "quiet", 4);
  GtkWidget *type = tessera_name_new ("to-do-type", "code", 6);

  sentence[0] = g_ascii_toupper (sentence[0]);
  tessera_label_set (title, "%s less %s", TESSERA_SIZE (suggestion->wins_bytes),
                     suggestion->of);
  tessera_name_set (why, sentence);
  tessera_name_set (type, text);
  gtk_widget_set_hexpand (title, TRUE);
  gtk_box_append (
      GTK_BOX (self->rows),
      tessera_column_new (2, tessera_row_new (8, title, copy_button_new (text), NULL),
                          why, type, NULL));
}

/* Policies as soon as their smallest devices are known. After an edit most rows say what they
 * said: then they stay. */
static void
show_to_do (Answers *self)
{
  const TesseraDocument *document = self->panel.document;
  const TesseraData *data = document->data;
  const GArray *changes = document->suggestions;
  g_autoptr (GPtrArray) all = g_ptr_array_new (); /* TesseraSuggestion, borrowed */
  g_autoptr (GArray) policies = NULL;
  g_autoptr (GString) words = g_string_new (NULL);

  if (data != NULL)
    {
      policies = tessera_suggest_policies (
          data->trace, &document->needs,
          document->planned != NULL ? document->planned->plan : NULL, document->path);
      for (guint i = 0; i < policies->len; i++)
        g_ptr_array_add (all, &g_array_index (policies, TesseraSuggestion, i));
      for (guint i = 0; changes != NULL && i < changes->len; i++)
        g_ptr_array_add (all, &g_array_index (changes, TesseraSuggestion, i));
    }
  for (guint i = 0; i < all->len; i++)
    {
      const TesseraSuggestion *one = all->pdata[i];

      g_string_append_printf (words, "%" G_GUINT64_FORMAT " %s %s\n", one->wins_bytes,
                              one->sentence, one->type);
    }
  if (g_strcmp0 (words->str, self->words) == 0)
    return;
  g_free (self->words);
  self->words = g_strdup (words->str);
  tessera_remove_children (self->rows);
  for (guint i = 0; i < all->len; i++)
    add_suggestion (self, all->pdata[i]);
  gtk_widget_set_visible (self->panel.box, all->len > 0);
}

static void
answers_changed (TesseraDocument *document, guint what, gpointer user)
{
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_VERDICT))
    show_to_do (user);
}

GtkWidget *
tessera_answers_view_new (TesseraDocument *document)
{
  Answers *self = tessera_panel_new (sizeof *self, document, "answers", 6, clear_answers);

  self->rows = tessera_named (tessera_column_new (10, NULL), "to-do");
  gtk_widget_set_margin_bottom (self->rows, 6);
  gtk_widget_set_visible (self->panel.box, FALSE);
  tessera_panel_add (self, tessera_heading_new ("What to do"), self->rows,
                     tessera_line_new (), NULL);
  return tessera_panel_watch (self, answers_changed);
}
