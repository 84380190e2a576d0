/*
 * A stack, folded to the program's own lines; a switch shows all of it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/panels.h"

#include "cli/command.h"
#include "picture/keys.h"
#include "viewer/model/document.h"
#include "viewer/kit/kit.h"

/* Frames beyond this are counted, not shown: a label each would take seconds. */
#define MOST_FRAMES 120
/* Of function and place: more stand below each other. */
#define MOST_BESIDE_CHARS 28

#define TESSERA_TYPE_STACK_VIEW (tessera_stack_view_get_type ())
G_DECLARE_FINAL_TYPE (TesseraStackView, tessera_stack_view, TESSERA, STACK_VIEW, GtkBox)

struct _TesseraStackView
{
  GtkBox parent_instance;

  GtkWidget *all; /* GtkToggleButton */
  GtkWidget *frames;
  const TesseraTrace *trace;
  uint32_t stack;
};

G_DEFINE_TYPE (TesseraStackView, tessera_stack_view, GTK_TYPE_BOX)

static void
add_frame (TesseraStackView *self, uint32_t frame, gboolean is_own)
{
  const TesseraTrace *trace = self->trace;
  const char *name = cli_shown (tessera_trace_string (trace, trace->frames[frame].name));
  const char *file = cli_shown (tessera_trace_string (trace, trace->frames[frame].file));
  g_autofree char *place = tessera_describe_frame_place (trace, frame);
  g_autofree char *tip =
      g_strdup_printf ("%s\n%s:%" G_GINT64_FORMAT, name, file, trace->frames[frame].line);
  gboolean is_long =
      g_utf8_strlen (name, -1) + g_utf8_strlen (place, -1) > MOST_BESIDE_CHARS;
  GtkWidget *row = gtk_box_new (
      is_long ? GTK_ORIENTATION_VERTICAL : GTK_ORIENTATION_HORIZONTAL, is_long ? 0 : 8);
  GtkWidget *function = tessera_name_new ("frame", is_own ? "strong" : "quiet", 3);
  GtkWidget *where = tessera_name_new ("frame", is_own ? "place own" : "place", 3);

  tessera_name_set (function, name);
  tessera_name_set (where, place);
  gtk_widget_set_hexpand (function, TRUE);
  gtk_label_set_xalign (GTK_LABEL (where), 1);
  tessera_set_tip (row, tip);
  gtk_box_append (GTK_BOX (row), function);
  gtk_box_append (GTK_BOX (row), where);
  gtk_box_append (GTK_BOX (self->frames), row);
}

static void
add_note (TesseraStackView *self, const char *format, unsigned count)
{
  g_autofree char *number = tessera_describe_count (count);
  g_autofree char *text = g_strdup_printf (format, number);

  gtk_box_append (GTK_BOX (self->frames), tessera_label_new (text, "quiet"));
}

static void
rebuild (TesseraStackView *self)
{
  const TesseraTrace *trace = self->trace;
  gboolean all = gtk_toggle_button_get_active (GTK_TOGGLE_BUTTON (self->all));
  unsigned n_shown = 0, n_folded = 0;

  tessera_remove_children (self->frames);
  gtk_widget_set_visible (self->all, trace != NULL && self->stack < trace->n_stacks);
  if (trace == NULL || self->stack >= trace->n_stacks)
    {
      gtk_box_append (
          GTK_BOX (self->frames),
          tessera_sentence_new ("The file has no stack for this block.", "quiet"));
      return;
    }
  for (uint32_t i = trace->stack_begin[self->stack];
       i < trace->stack_begin[self->stack + 1]; i++)
    {
      gboolean is_own = tessera_frame_is_own (trace, trace->stack_frames[i]);

      if ((all || is_own) && n_shown < MOST_FRAMES)
        {
          add_frame (self, trace->stack_frames[i], is_own);
          n_shown++;
        }
      else
        n_folded++;
    }
  if (n_folded > 0)
    add_note (self, all ? "and %s more frames" : "%s frames of libraries folded",
              n_folded);
}

static void
tessera_stack_view_class_init (TesseraStackViewClass *class)
{
}

static void
tessera_stack_view_init (TesseraStackView *self)
{
  GtkWidget *head = gtk_box_new (GTK_ORIENTATION_HORIZONTAL, 8);
  GtkWidget *heading = tessera_heading_new ("Stack");

  self->stack = TESSERA_NONE;
  self->all = gtk_toggle_button_new_with_label ("All frames");
  gtk_widget_add_css_class (self->all, "flat");
  gtk_widget_add_css_class (self->all, "small");
  gtk_widget_set_name (self->all, "stack-all");
  g_signal_connect_swapped (self->all, "toggled", G_CALLBACK (rebuild), self);
  self->frames = gtk_box_new (GTK_ORIENTATION_VERTICAL, 3);
  gtk_widget_set_name (self->frames, "stack-frames");
  gtk_widget_set_hexpand (heading, TRUE);
  gtk_box_append (GTK_BOX (head), heading);
  gtk_box_append (GTK_BOX (head), self->all);
  gtk_orientable_set_orientation (GTK_ORIENTABLE (self), GTK_ORIENTATION_VERTICAL);
  gtk_box_set_spacing (GTK_BOX (self), 4);
  gtk_box_append (GTK_BOX (self), head);
  gtk_box_append (GTK_BOX (self), self->frames);
}

GtkWidget *
tessera_stack_view_new (void)
{
  return g_object_new (TESSERA_TYPE_STACK_VIEW, NULL);
}

void
tessera_stack_view_set_stack (GtkWidget *view, const TesseraTrace *trace, uint32_t stack)
{
  TesseraStackView *self = TESSERA_STACK_VIEW (view);

  if (self->trace == trace && self->stack == stack)
    return;
  self->trace = trace;
  self->stack = stack;
  rebuild (self);
}
