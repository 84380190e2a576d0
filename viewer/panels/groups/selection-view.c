/*
 * What several selected blocks are, in numbers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/groups/selection-view.h"

#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

enum
{
  PEAK,
  AT_ONCE,
  CLASSES,
  PHASES,
  SIZES,
  GROUPS,
  STEPS,
  LIVES,
  STREAMS,
  N_FACTS
};

static const char *const fact_names[N_FACTS] = { "at peak live", "at once", "class",
                                                 "phases",       "sizes",   "groups",
                                                 "steps",        "live",    "streams" };

struct _TesseraSelectionView
{
  GtkBox parent_instance;

  TesseraDocument *document;
  GtkWidget *count;
  GtkWidget *bytes;
  GtkWidget *grid;
  GtkWidget *values[N_FACTS];
};

G_DEFINE_TYPE (TesseraSelectionView, tessera_selection_view, GTK_TYPE_BOX)

static void
set_fact (TesseraSelectionView *self, int fact, char *text)
{
  tessera_name_set (self->values[fact], text);
  tessera_set_tip (self->values[fact], text);
  g_free (text);
}

static char *
describe_peak (const TesseraSelectionFacts *facts, uint64_t bound_bytes)
{
  g_autofree char *bytes = tessera_describe_bytes (facts->peak_bytes);

  return g_strdup_printf ("%s, %.1f %% of it", bytes,
                          100.0 * (double) facts->peak_bytes /
                              (double) MAX (bound_bytes, 1));
}

static char *
describe_at_once (const TesseraSelectionFacts *facts)
{
  g_autofree char *bytes = tessera_describe_bytes (facts->most_bytes);
  g_autofree char *event = tessera_describe_count (facts->most_index);

  return g_strdup_printf ("%s at most, from event %s", bytes, event);
}

static char *
describe_classes (const TesseraSelectionFacts *facts)
{
  GString *text = g_string_new (NULL);

  for (uint8_t class = 0; class < TESSERA_N_CLASSES; class ++)
    if (facts->n_of_class[class] > 0)
      {
        g_autofree char *n = tessera_describe_count (facts->n_of_class[class]);

        g_string_append_printf (text, "%s%s %s", text->len > 0 ? ", " : "", n,
                                tessera_class_name (class));
      }
  return g_string_free (text, FALSE);
}

typedef char *(*DescribeValue) (TesseraData *data, uint64_t value);

static char *
describe_size (TesseraData *data, uint64_t value)
{
  return tessera_describe_bytes (value);
}

static char *
describe_phases (TesseraData *data, uint64_t value)
{
  return tessera_selection_facts_describe_phases (data, (uint32_t) value);
}

static char *
describe_group (TesseraData *data, uint64_t value)
{
  return g_strdup (value < data->n_groups ? data->groups[value].name : "no group");
}

/* "12 × 1.00 MiB, 3 × 2.00 MiB, 7 more" */
static char *
describe_common (TesseraData *data,
                 const TesseraCommon *common,
                 size_t n_different,
                 DescribeValue describe)
{
  GString *text = g_string_new (NULL);

  for (size_t i = 0; i < MIN (n_different, TESSERA_N_COMMON); i++)
    {
      g_autofree char *n = tessera_describe_count (common[i].n_blocks);
      g_autofree char *value = describe (data, common[i].value);

      g_string_append_printf (text, "%s%s × %s", i > 0 ? "\n" : "", n, value);
    }
  if (n_different > TESSERA_N_COMMON)
    {
      g_autofree char *n = tessera_describe_count (n_different - TESSERA_N_COMMON);

      g_string_append_printf (text, "\n%s more", n);
    }
  return g_string_free (text, FALSE);
}

static char *
describe_steps (TesseraData *data, const TesseraSelectionFacts *facts)
{
  const TesseraStep *steps = data->structure->steps;

  if (facts->first_step == TESSERA_NONE)
    return g_strdup ("outside of steps");
  if (facts->first_step == facts->last_step)
    return g_strdup_printf ("%" G_GINT64_FORMAT, steps[facts->first_step].number);
  return g_strdup_printf ("%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                          steps[facts->first_step].number,
                          steps[facts->last_step].number);
}

static char *
describe_lives (const TesseraSelectionFacts *facts)
{
  g_autofree char *least = tessera_describe_count (facts->least_life);
  g_autofree char *most = tessera_describe_counted (facts->most_life, "event");

  return facts->least_life == facts->most_life
             ? g_strdup (most)
             : g_strdup_printf ("%s to %s", least, most);
}

static void
show_facts (TesseraSelectionView *self)
{
  TesseraData *data = self->document->data;
  const TesseraSelectionFacts *facts = &self->document->facts;
  g_autofree char *bytes = tessera_describe_bytes (facts->size_bytes);
  g_autofree char *exact = tessera_describe_bytes_exact (facts->size_bytes);
  g_autofree char *asked = g_strdup_printf ("%s asked", bytes);

  gtk_label_set_text (GTK_LABEL (self->bytes), asked);
  tessera_set_tip (self->bytes, exact);
  set_fact (self, PEAK, describe_peak (facts, data->bound_bytes));
  set_fact (self, AT_ONCE, describe_at_once (facts));
  set_fact (self, CLASSES, describe_classes (facts));
  set_fact (self, PHASES,
            describe_common (data, facts->phases, facts->n_phases, describe_phases));
  set_fact (self, SIZES,
            describe_common (data, facts->sizes, facts->n_sizes, describe_size));
  set_fact (self, GROUPS,
            describe_common (data, facts->groups, facts->n_groups, describe_group));
  set_fact (self, STEPS, describe_steps (data, facts));
  set_fact (self, LIVES, describe_lives (facts));
  set_fact (self, STREAMS, g_strdup_printf ("%u", facts->n_streams));
}

static void
on_changed (TesseraDocument *document, guint what, gpointer user)
{
  TesseraSelectionView *self = user;
  const TesseraSelection *selection = document->selection;
  gboolean many = selection != NULL && selection->n_blocks > 1;
  gboolean is_told = many && document->facts.selection == selection;
  g_autofree char *text = NULL;

  if (!(what & (TESSERA_CHANGED_TRACE | TESSERA_CHANGED_SELECTION |
                TESSERA_CHANGED_FACTS | TESSERA_CHANGED_GROUPS)))
    return;
  gtk_widget_set_visible (GTK_WIDGET (self), many);
  if (!many)
    return;
  text = tessera_describe_counted (selection->n_blocks, "block");
  gtk_label_set_text (GTK_LABEL (self->count), text);
  /* Old facts are another selection's. */
  gtk_widget_set_opacity (self->grid, is_told ? 1 : 0.3);
  if (is_told)
    show_facts (self);
}

static void
tessera_selection_view_dispose (GObject *object)
{
  g_clear_object (&TESSERA_SELECTION_VIEW (object)->document);
  G_OBJECT_CLASS (tessera_selection_view_parent_class)->dispose (object);
}

static void
tessera_selection_view_class_init (TesseraSelectionViewClass *class)
{
  G_OBJECT_CLASS (class)->dispose = tessera_selection_view_dispose;
}

static GtkWidget *
facts_new (TesseraSelectionView *self)
{
  GtkWidget *grid = gtk_grid_new ();

  gtk_grid_set_column_spacing (GTK_GRID (grid), 12);
  gtk_grid_set_row_spacing (GTK_GRID (grid), 4);
  for (int i = 0; i < N_FACTS; i++)
    {
      GtkWidget *name = tessera_label_new (fact_names[i], "quiet");

      self->values[i] = tessera_name_new ("fact", NULL, 12);
      gtk_widget_set_valign (name, GTK_ALIGN_START);
      gtk_widget_set_hexpand (self->values[i], TRUE);
      gtk_grid_attach (GTK_GRID (grid), name, 0, i, 1, 1);
      gtk_grid_attach (GTK_GRID (grid), self->values[i], 1, i, 1, 1);
    }
  return grid;
}

static void
tessera_selection_view_init (TesseraSelectionView *self)
{
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 8);
  self->count = tessera_label_new ("", "block-size");
  self->bytes = tessera_label_new ("", "quiet");
  self->grid = facts_new (self);
  gtk_widget_set_name (self->count, "selection-count");
  gtk_widget_set_name (self->bytes, "selection-bytes");
  gtk_widget_set_name (self->values[PEAK], "selection-peak");
  gtk_widget_set_name (self->values[SIZES], "selection-sizes");
  gtk_box_append (GTK_BOX (self), self->count);
  gtk_box_append (GTK_BOX (self), self->bytes);
  gtk_box_append (GTK_BOX (self), self->grid);
  gtk_box_append (GTK_BOX (self), gtk_separator_new (GTK_ORIENTATION_HORIZONTAL));
  gtk_box_append (GTK_BOX (self), tessera_heading_new ("The outlined one"));
}

GtkWidget *
tessera_selection_view_new (TesseraDocument *document)
{
  TesseraSelectionView *self = g_object_new (TESSERA_TYPE_SELECTION_VIEW, NULL);

  self->document = g_object_ref (document);
  tessera_watch (document, GTK_WIDGET (self), on_changed);
  return GTK_WIDGET (self);
}
