/*
 * Letting go of what is large without waiting for it.
 *
 * To give the memory of a trace of a million blocks back to the system takes 20 to 60 ms.
 * The main thread has that done by another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

/* g_atomic_rc_box_release_full(), on a thread of its own where the main thread asks.
 * @clear: touches nothing but what is in the box. */
void tessera_let_go (gpointer box, GDestroyNotify clear);
