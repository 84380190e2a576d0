/*
 * Whether what is written can be read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-clip.h"

#include "viewer/kit/kit.h"

#include <string.h>

/* Rounding of widths to pixels, of text to its units. */
#define SLACK 1.5

/* Texts without an end: names that people give to files, modules, phases and groups, and
 * rules made of these. Longer than so many characters they may be cut, and then their
 * tooltip has all of it. */
static const struct
{
  const char *name; /* of the label, or of what is around it */
  int longest;
  const char *reason;
} exceptions[] = {
  { "title", 40, "the name of a file" },
  { "title-left", 40, "a plan that was read has its file's name" },
  { "title-right", 40, "a plan that was read has its file's name" },
  { "plan-name", 40, "a plan that was read has its file's name" },
  { "legend-name", 48, "the name of a module, a phase or a group" },
  { "moment", 80, "the name of a phase" },
  { "fact", 60, "names of modules, phases, groups" },
  { "source", 60, "names of functions and files" },
  { "frame", 48, "names of functions and files" },
  { "line", 13, "the same, in a table of lines, which asks for the room of so much" },
  { "cell", 60, "names of modules, phases, groups, functions and files" },
  { "to-do-type", 120, "the name of a file" },
  { "to-do-why", 100, "names of functions and files" },
  { "edit-what", 160, "a rule with names in it" },
  { "edit-title", 96, "a rule with names in it" },
  { "edit-choice", 32, "the name of a group" },
};

typedef struct
{
  const char *state; /* that is looked at */
  int n_labels;
  int n_cut;
} Look;

/* --- a text ------------------------------------------------------------------------
 */

static gboolean
has_text (GtkWidget *widget)
{
  return GTK_IS_LABEL (widget) || GTK_IS_INSCRIPTION (widget);
}

static const char *
text_of (GtkWidget *widget)
{
  return GTK_IS_LABEL (widget) ? gtk_label_get_text (GTK_LABEL (widget))
                               : gtk_inscription_get_text (GTK_INSCRIPTION (widget));
}

/* A cell's line as GTK draws it: it tells nobody. (transfer full) */
static PangoLayout *
inscribed (GtkInscription *cell, int *out_x)
{
  GtkWidget *widget = GTK_WIDGET (cell);
  PangoLayout *layout =
      gtk_widget_create_pango_layout (widget, gtk_inscription_get_text (cell));
  int room = gtk_widget_get_width (widget), width;

  pango_layout_set_ellipsize (layout, PANGO_ELLIPSIZE_MIDDLE);
  pango_layout_get_pixel_size (layout, &width, NULL);
  if (width > room)
    pango_layout_set_width (layout, room * PANGO_SCALE);
  *out_x = MAX ((int) (gtk_inscription_get_xalign (cell) * (float) (room - width)), 0);
  return layout;
}

/* As it is drawn, and where in the widget. (transfer full) */
static PangoLayout *
layout_of (GtkWidget *widget, int *out_x, int *out_y)
{
  *out_y = 0;
  if (GTK_IS_INSCRIPTION (widget))
    return inscribed (GTK_INSCRIPTION (widget), out_x);
  gtk_label_get_layout_offsets (GTK_LABEL (widget), out_x, out_y);
  return g_object_ref (gtk_label_get_layout (GTK_LABEL (widget)));
}

static void
complain (Look *look, GtkWidget *label, const char *what)
{
  GString *path = g_string_new (NULL);

  for (GtkWidget *w = label; w != NULL; w = gtk_widget_get_parent (w))
    if (*gtk_widget_get_name (w) != '\0' &&
        !g_str_equal (gtk_widget_get_name (w), G_OBJECT_TYPE_NAME (w)))
      g_string_prepend (g_string_prepend (path, gtk_widget_get_name (w)), "/");
  g_printerr ("%s: %s: \"%s\" in %s\n", look->state, what,
              has_text (label) ? text_of (label) : "", path->str);
  g_string_free (path, TRUE);
  look->n_cut++;
}

/* @text without what only says where it may be broken. */
static gboolean
tooltip_has (GtkWidget *widget, const char *text)
{
  static const char *const marks[] = { TESSERA_MAY_BREAK, TESSERA_NO_BREAK };
  g_autoptr (GString) plain = g_string_new (text);

  for (size_t i = 0; i < G_N_ELEMENTS (marks); i++)
    g_string_replace (plain, marks[i], "", 0);
  for (GtkWidget *w = widget; w != NULL; w = gtk_widget_get_parent (w))
    {
      const char *tip = gtk_widget_get_tooltip_text (w);

      if (GTK_IS_INSCRIPTION (w) && gtk_widget_get_has_tooltip (w))
        tip = text_of (w);
      if (tip != NULL)
        return strstr (tip, plain->str) != NULL;
    }
  return FALSE;
}

static gboolean
may_be_cut (GtkWidget *label)
{
  const char *text = text_of (label);

  for (GtkWidget *w = label; w != NULL; w = gtk_widget_get_parent (w))
    for (size_t i = 0; i < G_N_ELEMENTS (exceptions); i++)
      if (g_str_equal (gtk_widget_get_name (w), exceptions[i].name))
        return g_utf8_strlen (text, -1) > exceptions[i].longest &&
               tooltip_has (label, text);
  return FALSE;
}

static void
look_at_room (Look *look, GtkWidget *label)
{
  int x, y, width, height;
  g_autoptr (PangoLayout) layout = layout_of (label, &x, &y);

  if (pango_layout_is_ellipsized (layout))
    {
      if (!may_be_cut (label))
        complain (look, label, "ellipsized");
      return;
    }
  pango_layout_get_pixel_size (layout, &width, &height);
  if (width > gtk_widget_get_width (label) + SLACK ||
      height > gtk_widget_get_height (label) + SLACK)
    complain (look, label, "narrower than its text");
}

/* A number at the end of a line and its unit on the next is read as two things. */
static void
look_at_units (Look *look, GtkWidget *label)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "%" };
  int x, y;
  g_autoptr (PangoLayout) layout = layout_of (label, &x, &y);
  const char *text = pango_layout_get_text (layout);

  for (int i = 1; i < pango_layout_get_line_count (layout); i++)
    {
      int begin = pango_layout_get_line_readonly (layout, i)->start_index;
      const char *line = text + begin;
      size_t n = strcspn (line, " ,.;:)");

      /* Before it a blank, and marks that are not seen. */
      while (begin > 0 && !g_ascii_isalnum (text[begin - 1]) && text[begin - 1] != ')')
        begin--;
      for (size_t k = 0; begin > 0 && k < G_N_ELEMENTS (units); k++)
        if (g_ascii_isdigit (text[begin - 1]) && strlen (units[k]) == n &&
            strncmp (line, units[k], n) == 0)
          complain (look, label, "a number without its unit");
    }
}

/* --- what shows it --------------------------------------------------------------------
 */

/* The text's own box, in the coordinates of @around. */
static gboolean
text_bounds (GtkWidget *label, GtkWidget *around, graphene_rect_t *out)
{
  graphene_point_t at;
  int x, y, width, height;
  g_autoptr (PangoLayout) layout = layout_of (label, &x, &y);

  pango_layout_get_pixel_size (layout, &width, &height);
  if (!gtk_widget_compute_point (label, around,
                                 &GRAPHENE_POINT_INIT ((float) x, (float) y), &at))
    return FALSE;
  *out = GRAPHENE_RECT_INIT (at.x, at.y, (float) width, (float) height);
  return TRUE;
}

/* Inside of everything around it. Below a part that scrolls, what is out of sight is a
 * scroll away. */
static void
look_at_place (Look *look, GtkWidget *label)
{
  gboolean scrolls = FALSE;

  for (GtkWidget *w = gtk_widget_get_parent (label); w != NULL;
       w = gtk_widget_get_parent (w))
    {
      graphene_rect_t r;

      if (!text_bounds (label, w, &r))
        return;
      if (GTK_IS_SCROLLABLE (w))
        scrolls = TRUE;
      if (r.origin.x < -SLACK ||
          r.origin.x + r.size.width > (float) gtk_widget_get_width (w) + SLACK)
        {
          complain (look, label, "beside what shows it");
          return;
        }
      if (!scrolls &&
          (r.origin.y < -SLACK ||
           r.origin.y + r.size.height > (float) gtk_widget_get_height (w) + SLACK))
        {
          complain (look, label, "above or below what shows it");
          return;
        }
      if (GTK_IS_NATIVE (w))
        return;
    }
}

static void
look_at_scrolling (Look *look, GtkWidget *widget)
{
  GtkAdjustment *sideways =
      gtk_scrolled_window_get_hadjustment (GTK_SCROLLED_WINDOW (widget));

  if (gtk_adjustment_get_upper (sideways) >
      gtk_adjustment_get_page_size (sideways) + SLACK)
    complain (look, widget, "scrolls sideways");
}

static void
walk (Look *look, GtkWidget *widget)
{
  if (!gtk_widget_get_mapped (widget) || !gtk_widget_get_child_visible (widget))
    return;
  if (has_text (widget) && *text_of (widget) != '\0')
    {
      look->n_labels++;
      look_at_room (look, widget);
      look_at_place (look, widget);
      look_at_units (look, widget);
    }
  if (GTK_IS_SCROLLED_WINDOW (widget))
    look_at_scrolling (look, widget);
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    walk (look, child);
}

int
test_count_cut (TesseraWindow *window, const char *state, int width, int height)
{
  GdkSurface *surface = gtk_native_get_surface (GTK_NATIVE (window));
  Look look = { .state = state };

  gtk_test_widget_wait_for_draw (GTK_WIDGET (window));
  walk (&look, GTK_WIDGET (window));
  g_assert_cmpint (look.n_labels, >, 3);
  if (gdk_surface_get_width (surface) > width ||
      gdk_surface_get_height (surface) > height)
    {
      g_printerr ("%s: the window has become %d x %d\n", state,
                  gdk_surface_get_width (surface), gdk_surface_get_height (surface));
      look.n_cut++;
    }
  return look.n_cut;
}
