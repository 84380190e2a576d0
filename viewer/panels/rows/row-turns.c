/*
 * Whose work a frame does. See row-turns.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/panels/rows/row-turns.h"

typedef struct
{
  gpointer at_work; /* until the end of the frame; NULL: nobody yet */
  gpointer next;    /* nobody else may; NULL: anybody */
  gpointer refused; /* the first that was in this frame; NULL: nobody */
} Turns;

static void
on_frame_end (GdkFrameClock *clock, gpointer user)
{
  Turns *turns = user;

  *turns = (Turns){ .next = turns->refused };
}

static Turns *
turns_of (GdkFrameClock *clock)
{
  static const char key[] = "row-turns";
  Turns *turns = g_object_get_data (G_OBJECT (clock), key);

  if (turns == NULL)
    {
      turns = g_new0 (Turns, 1);
      g_object_set_data_full (G_OBJECT (clock), key, turns, g_free);
      g_signal_connect (clock, "after-paint", G_CALLBACK (on_frame_end), turns);
    }
  return turns;
}

gboolean
tessera_row_turns_take (GdkFrameClock *clock, gpointer who)
{
  Turns *turns = clock != NULL ? turns_of (clock) : NULL;

  if (turns == NULL || turns->at_work == who)
    return TRUE;
  if (turns->at_work == NULL && (turns->next == NULL || turns->next == who))
    {
      turns->at_work = who;
      return TRUE;
    }
  if (turns->refused == NULL)
    turns->refused = who;
  return FALSE;
}
