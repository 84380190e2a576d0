/*
 * The page of an opened file comes into sight part by part, one a frame: first the
 * verdict above it, then both layouts and the curves, then what stands on either side.
 * All at once they take the time of three: hundreds of texts are laid out and drawn for
 * the first time.
 *
 * Nothing moves meanwhile: a side that is still empty is as wide as it is going to be.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

/* What the frames show, in this order. */
enum
{
  VERDICT, /* is there already */
  WIDTHS,  /* nothing new: texts of the sides are laid out */
  PAGE,
  FIRST_SIDE,
  LAST_SIDE = FIRST_SIDE + TESSERA_N_SIDES - 1,
  N_STEPS
};

static void
hide_side (TesseraWindowSide *side)
{
  int width;

  gtk_widget_measure (side->frame, GTK_ORIENTATION_HORIZONTAL, -1, &width, NULL, NULL,
                      NULL);
  gtk_widget_set_size_request (side->frame, width, -1);
  gtk_widget_set_visible (side->contents, FALSE);
}

static void
show_side (TesseraWindowSide *side)
{
  gtk_widget_set_visible (side->contents, TRUE);
  gtk_widget_set_size_request (side->frame, side->least_width, -1);
}

static void
show_page (TesseraWindow *self)
{
  gtk_stack_set_visible_child_name (GTK_STACK (self->stack), "main");
  gtk_widget_grab_focus (self->canvases[TESSERA_SIDE_LEFT]);
}

static void
take_step (TesseraWindow *self, int step)
{
  if (step == PAGE)
    show_page (self);
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    if (step == WIDTHS)
      hide_side (&self->sides[i]);
    else if (step == FIRST_SIDE + i)
      show_side (&self->sides[i]);
}

static gboolean
on_tick (GtkWidget *widget, GdkFrameClock *clock, gpointer unused)
{
  TesseraWindow *self = TESSERA_WINDOW (widget);

  take_step (self, self->unfold_step++);
  if (self->unfold_step < N_STEPS)
    return G_SOURCE_CONTINUE;
  self->unfold_tick = 0;
  return G_SOURCE_REMOVE;
}

void
tessera_window_unfold (TesseraWindow *self)
{
  if (self->unfold_tick != 0 ||
      g_str_equal (gtk_stack_get_visible_child_name (GTK_STACK (self->stack)), "main"))
    return;
  if (!gtk_widget_get_mapped (GTK_WIDGET (self)))
    {
      show_page (self);
      return;
    }
  self->unfold_step = VERDICT;
  self->unfold_tick =
      gtk_widget_add_tick_callback (GTK_WIDGET (self), on_tick, NULL, NULL);
}

void
tessera_window_stop_unfolding (TesseraWindow *self)
{
  if (self->unfold_tick == 0)
    return;
  gtk_widget_remove_tick_callback (GTK_WIDGET (self), self->unfold_tick);
  self->unfold_tick = 0;
  for (int i = 0; i < TESSERA_N_SIDES; i++)
    show_side (&self->sides[i]);
}
