/*
 * Letting go of what is large. See let-go.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/document/let-go.h"

#include <unistd.h>

typedef struct
{
  gpointer box;
  GDestroyNotify clear;
} Load;

static void
release (gpointer user, gpointer unused)
{
  Load *load = user;

  g_atomic_rc_box_release_full (load->box, load->clear);
  g_free (load);
}

/* One thread, kept by GLib for a while where there is nothing to do. */
static gpointer
pool_new (gpointer unused)
{
  return g_thread_pool_new (release, NULL, 1, FALSE, NULL);
}

void
tessera_let_go (gpointer box, GDestroyNotify clear)
{
  static GOnce once = G_ONCE_INIT;

  if (gettid () == getpid ())
    g_thread_pool_push (g_once (&once, pool_new, NULL),
                        g_memdup2 (&(Load){ box, clear }, sizeof (Load)), NULL);
  else
    g_atomic_rc_box_release_full (box, clear);
}
