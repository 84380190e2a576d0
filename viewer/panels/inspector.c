/*
 * Everything about the selected block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "viewer/model/document.h"
#include "viewer/panels/groups/selection-view.h"
#include "viewer/kit/kit.h"

enum
{
  CLASS,
  LIVES,
  BORN,
  DIES,
  PHASES,
  STREAM,
  LEFT_AT,
  RIGHT_AT,
  GROUP,
  N_FACTS
};

#define TESSERA_TYPE_INSPECTOR (tessera_inspector_get_type ())
G_DECLARE_FINAL_TYPE (TesseraInspector, tessera_inspector, TESSERA, INSPECTOR, GtkBox)

struct _TesseraInspector
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *empty;
  GtkWidget *filled;
  GtkWidget *size;
  GtkWidget *exact;
  GtkWidget *names[N_FACTS];
  GtkWidget *values[N_FACTS];
  GtkWidget *neighbours;
  GtkWidget *stack;
};

G_DEFINE_TYPE (TesseraInspector, tessera_inspector, GTK_TYPE_BOX)

static const char *const fact_names[N_FACTS] = { "class",   "lives",      "born",
                                                 "dies",    "phases",     "stream",
                                                 "lies at", "planned at", "group" };

static void
set_fact (TesseraInspector *self, int fact, char *text)
{
  gboolean known = text != NULL && *text != '\0';

  gtk_widget_set_visible (self->names[fact], known);
  gtk_widget_set_visible (self->values[fact], known);
  if (known)
    {
      tessera_name_set (self->values[fact], text);
      tessera_set_tip (self->values[fact], text);
    }
  g_free (text);
}

static char *
describe_stream (TesseraData *data, const TesseraBlock *block)
{
  uint64_t handle =
      block->stream < data->trace->n_streams ? data->trace->streams[block->stream] : 0;
  GString *text = g_string_new (NULL);

  if (handle == 0)
    g_string_append (text, "default");
  else
    g_string_append_printf (text, "%u (0x%" G_GINT64_MODIFIER "x)", block->stream,
                            handle);
  if (block->pool != 0)
    g_string_append_printf (text, ", private pool %u", block->pool);
  return g_string_free (text, FALSE);
}

static char *
describe_place (TesseraDocument *document, TesseraSide side)
{
  const TesseraSheet *sheet = document->sheets[side];

  return sheet != NULL ? tessera_describe_place (sheet, document->selected) : NULL;
}

static void
show_sizes (TesseraInspector *self, const TesseraBlock *block)
{
  const TesseraSheet *sheet = self->document->sheets[TESSERA_SIDE_LEFT];
  uint32_t selected = self->document->selected;
  uint64_t taken = sheet != NULL && sheet->layout->addr[selected] != TESSERA_NOWHERE
                       ? sheet->layout->block_bytes[selected]
                       : block->block_bytes;
  g_autofree char *size = tessera_describe_bytes (block->size_bytes);
  g_autofree char *asked = tessera_describe_bytes_exact (block->size_bytes);
  uint64_t lost = taken > block->size_bytes ? taken - block->size_bytes : 0;
  g_autofree char *rounding = tessera_describe_bytes_exact (lost);
  g_autofree char *exact =
      lost > 0 ? g_strdup_printf ("%s asked, %s rounding", asked, rounding)
               : g_strdup_printf ("%s asked", asked);

  gtk_label_set_text (GTK_LABEL (self->size), size);
  gtk_label_set_text (GTK_LABEL (self->exact), exact);
  tessera_set_tip (self->exact, exact);
}

static void
show_block (TesseraInspector *self)
{
  TesseraDocument *document = self->document;
  TesseraData *data = document->data;
  uint32_t selected = document->selected;
  const TesseraBlock *block = &data->blocks->blocks[selected];

  show_sizes (self, block);
  set_fact (self, CLASS, g_strdup (tessera_class_name (block->lifetime_class)));
  set_fact (self, LIVES, tessera_describe_life (data, selected));
  set_fact (self, BORN, tessera_describe_birth (data, selected));
  set_fact (self, DIES, tessera_describe_death (data, selected));
  set_fact (self, PHASES, tessera_describe_phases (data, selected));
  set_fact (self, STREAM, describe_stream (data, block));
  set_fact (self, LEFT_AT, describe_place (document, TESSERA_SIDE_LEFT));
  set_fact (self, RIGHT_AT, describe_place (document, TESSERA_SIDE_RIGHT));
  set_fact (self, GROUP, tessera_describe_group (data, selected));
  gtk_label_set_text (GTK_LABEL (self->names[LEFT_AT]),
                      document->left_planned != NULL                   ? "left at"
                      : document->left_kind == TESSERA_LAYOUT_RECORDED ? "recorded at"
                                                                       : "simulated at");
  tessera_stack_view_set_stack (self->stack, data->trace, block->stack);
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraInspector *self = user;
  gboolean any = document->data != NULL && document->selected != TESSERA_NONE;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SELECTION |
                TESSERA_CHANGED_SHEETS | TESSERA_CHANGED_GROUPS)))
    return;
  /* Another trace may lie where the last one lay. */
  if (what & TESSERA_CHANGED_TRACE)
    tessera_stack_view_set_stack (self->stack, NULL, TESSERA_NONE);
  gtk_widget_set_visible (self->empty, !any);
  gtk_widget_set_visible (self->filled, any);
  if (any)
    show_block (self);
}

static void
tessera_inspector_dispose (GObject *object)
{
  g_clear_object (&TESSERA_INSPECTOR (object)->document);
  G_OBJECT_CLASS (tessera_inspector_parent_class)->dispose (object);
}

static void
tessera_inspector_class_init (TesseraInspectorClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_inspector_dispose;
}

static GtkWidget *
facts_new (TesseraInspector *self)
{
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 4);
  for (int i = 0; i < N_FACTS; i++)
    {
      self->names[i] = tessera_label_new (fact_names[i], "quiet");
      self->values[i] = tessera_name_new ("fact", NULL, 4);
      gtk_widget_set_valign (self->names[i], GTK_ALIGN_START);
      gtk_widget_set_hexpand (self->values[i], TRUE);
      gtk_grid_attach (GTK_GRID (grid), self->names[i], 0, i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->values[i], 1, i, 1, 1);
    }
  return grid;
}

static void
tessera_inspector_init (TesseraInspector *self)
{
  self->empty = tessera_sentence_new (
      "Click a block to see its size, its life, where it lies in both layouts, and the "
      "line of the program that asked for it. Ctrl+click takes more of them, Shift+drag "
      "all that a band covers.",
      "quiet");
  gtk_widget_set_name (self->empty, "inspector-empty");
  self->filled = gtk_box_new (GTK_ORIENTATION_VERTICAL, 8);
  self->size = tessera_label_new ("", "block-size");
  self->exact = tessera_sentence_new ("", "quiet");
  gtk_widget_set_name (self->size, "block-size");
  gtk_widget_set_name (self->exact, "block-exact");
  self->stack = tessera_stack_view_new ();
  gtk_box_append (GTK_BOX (self->filled), self->size);
  gtk_box_append (GTK_BOX (self->filled), self->exact);
  gtk_box_append (GTK_BOX (self->filled), facts_new (self));
  gtk_widget_set_name (self->values[LEFT_AT], "block-left");
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 10);
  gtk_box_append (GTK_BOX (self), self->empty);
  gtk_box_append (GTK_BOX (self), self->filled);
  gtk_widget_set_name (GTK_WIDGET (self), "inspector");
}

GtkWidget *
tessera_inspector_new (TesseraDocument *document)
{
  TesseraInspector *self = g_object_new (TESSERA_TYPE_INSPECTOR, NULL);

  self->document = g_object_ref (document);
  self->neighbours = tessera_neighbours_new (document);
  gtk_box_prepend (GTK_BOX (self), tessera_selection_view_new (document));
  gtk_box_append (GTK_BOX (self->filled), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (self->filled), self->stack);
  gtk_box_append (GTK_BOX (self->filled), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (self->filled), self->neighbours);
  gtk_box_append (GTK_BOX (self), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (self), tessera_largest_new (document));
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
