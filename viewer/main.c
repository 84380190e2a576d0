/*
 * tessera-viewer: the application's door.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window.h"

#include <malloc.h>

int
main (int argc, char **argv)
{
  g_autoptr (TesseraApp) app = NULL;
  int status;

  /* The renderer's buffers of some megabytes would otherwise be mapped and faulted in
   * anew each frame; keeping them halves a frame. */
  mallopt (M_MMAP_THRESHOLD, 256 << 20);
  mallopt (M_TRIM_THRESHOLD, 512 << 20);
  g_set_application_name ("Tessera");
  app = tessera_app_new ();
  status = g_application_run (G_APPLICATION (app), argc, argv);
  return status == 0 && tessera_app_has_failed (app) ? 1 : status;
}
