/*
 * What to do about the memory, and whose it is at the chosen moment: what
 * `tessera info` ends with and begins with.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/kit/kit.h"
#include "viewer/panels/panels.h"

#include "cli/command.h"
#include "picture/colour.h"
#include "picture/palette.h"

/* Less than one so many-th of what is live has no row of its own. */
#define SMALL_SHARE 200
/* Of "Copy" and "Copied": nothing moves when it is pressed. */
#define COPY_CHARS 6

typedef struct
{
  TesseraPanel panel;
  GtkWidget *to_do; /* heading and rows */
  GtkWidget *to_do_rows;
  GtkWidget *whose; /* heading and grid */
  GtkWidget *heading;
  GtkWidget *rows; /* a grid: a category each, the last: those that are too small */
  char *words;     /* that the rows of what to do have */
} Answers;

static void
clear_answers (gpointer user)
{
  g_free (((Answers *) user)->words);
}

/* --- what to do ------------------------------------------------------------------- */

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
      GTK_BOX (self->to_do_rows),
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
  tessera_remove_children (self->to_do_rows);
  for (guint i = 0; i < all->len; i++)
    add_suggestion (self, all->pdata[i]);
  gtk_widget_set_visible (self->to_do,
                          gtk_widget_get_first_child (self->to_do_rows) != NULL);
}

/* --- whose it is ------------------------------------------------------------------ */

static void
write_row (Answers *self,
           int row,
           const char *name,
           uint32_t rgb,
           uint64_t bytes,
           uint64_t all_bytes)
{
  GtkWidget *cells[4];

  for (int i = 0; i < 4; i++)
    cells[i] = gtk_grid_get_child_at (GTK_GRID (self->rows), i, row);
  tessera_grid_show (self->rows, row, TRUE);
  tessera_swatch_set (cells[0], rgb, TESSERA_NONE);
  tessera_name_set (cells[1], name);
  tessera_label_set (cells[2], "%s", TESSERA_SIZE (bytes));
  tessera_set_tip (cells[2], TESSERA_BYTES (bytes));
  tessera_label_set (cells[3], "%.1f %%",
                     100.0 * (double) bytes / (double) MAX (all_bytes, 1));
}

/* Largest first, of equals the first. Nothing where nothing is known of any. */
static void
show_whose (Answers *self)
{
  TesseraDocument *document = self->panel.document;
  g_autofree char *moment = tessera_document_describe_moment (document);
  g_autofree char *more = NULL;
  uint64_t left[TESSERA_N_CATEGORIES], all_bytes = 0, known_bytes = 0, small_bytes = 0;
  int n = 0, n_small = 0;

  memcpy (left, document->described.category_bytes, sizeof left);
  for (int i = 0; i < TESSERA_N_CATEGORIES; i++)
    {
      all_bytes += left[i];
      if (!tessera_category_is_unknown ((TesseraCategory) i))
        known_bytes += left[i];
    }
  for (;;)
    {
      int largest = 0;

      for (int i = 1; i < TESSERA_N_CATEGORIES; i++)
        if (left[i] > left[largest])
          largest = i;
      if (left[largest] == 0)
        break;
      if (left[largest] >= all_bytes / SMALL_SHARE)
        write_row (self, n++, tessera_category_name ((TesseraCategory) largest),
                   tessera_colour_of_category ((TesseraCategory) largest, document->dark),
                   left[largest], all_bytes);
      else
        {
          n_small++;
          small_bytes += left[largest];
        }
      left[largest] = 0;
    }
  if (n_small > 0)
    {
      more = g_strdup_printf ("%d more", n_small);
      write_row (self, n++, more, tessera_palette_other (document->dark), small_bytes,
                 all_bytes);
    }
  for (; n < TESSERA_N_CATEGORIES + 1; n++)
    tessera_grid_show (self->rows, n, FALSE);
  tessera_label_set (self->heading, "Whose it is at %s", moment);
  gtk_widget_set_visible (self->whose, document->data != NULL && known_bytes > 0);
}

/* --- both ------------------------------------------------------------------------- */

static void
answers_changed (TesseraDocument *document, guint what, gpointer user)
{
  Answers *self = user;

  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_VERDICT))
    show_to_do (self);
  if (what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_MOMENT | TESSERA_CHANGED_COLOUR))
    show_whose (self);
  gtk_widget_set_visible (self->panel.box, gtk_widget_get_visible (self->to_do) ||
                                               gtk_widget_get_visible (self->whose));
}

static GtkWidget *
section_new (Answers *self, const char *name, GtkWidget *heading, GtkWidget *content)
{
  GtkWidget *section =
      tessera_named (tessera_column_new (6, heading, content, NULL), name);

  tessera_panel_add (self, section, NULL);
  return section;
}

GtkWidget *
tessera_answers_view_new (TesseraDocument *document)
{
  Answers *self =
      tessera_panel_new (sizeof *self, document, "answers", 12, clear_answers);

  self->rows = tessera_grid_new (8, 4);
  for (int i = 0; i < TESSERA_N_CATEGORIES + 1; i++)
    {
      GtkWidget *name = tessera_name_new ("whose-name", NULL, 5);

      gtk_widget_set_hexpand (name, TRUE);
      tessera_grid_add (self->rows, i, tessera_swatch_new (), name,
                        tessera_number_new ("whose-bytes", "figure"),
                        tessera_number_new ("whose-share", "amount"), NULL);
    }
  self->to_do_rows = gtk_box_new (GTK_ORIENTATION_VERTICAL, 10);
  self->to_do =
      section_new (self, "to-do", tessera_heading_new ("What to do"), self->to_do_rows);
  self->heading = tessera_sentence_new ("", "panel-heading");
  self->whose = section_new (self, "whose", self->heading, self->rows);
  tessera_panel_add (self, tessera_line_new (), NULL);
  return tessera_panel_watch (self, answers_changed);
}
