/*
 * How the desktop's theme looks: dark or light, and whether it asks for high contrast.
 * The canvases and the verdict's colours go by what is there to be seen, whoever chose
 * it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

#include <string.h>

static gboolean
is_dark (TesseraWindow *self)
{
  GdkRGBA ground;

  /* A theme that does not name its ground is of an older kind, and light unless asked. */
  if (!gtk_style_context_lookup_color (gtk_widget_get_style_context (GTK_WIDGET (self)),
                                       "theme_base_color", &ground))
    {
      gboolean dark = FALSE;

      g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)),
                    "gtk-application-prefer-dark-theme", &dark, NULL);
      return dark;
    }
  return 0.3f * ground.red + 0.6f * ground.green + 0.1f * ground.blue < 0.5f;
}

static void
update_look (TesseraWindow *self)
{
  g_autofree char *name = NULL;

  g_object_get (gtk_widget_get_settings (GTK_WIDGET (self)), "gtk-theme-name", &name,
                NULL);
  /* What is quiet otherwise is written in full. */
  if (name != NULL && (strstr (name, "HighContrast") != NULL || strstr (name, "-hc")))
    gtk_widget_add_css_class (GTK_WIDGET (self), "high-contrast");
  else
    gtk_widget_remove_css_class (GTK_WIDGET (self), "high-contrast");
  tessera_document_set_dark (self->document, is_dark (self));
}

void
tessera_window_follow_look (TesseraWindow *self)
{
  GtkSettings *settings = gtk_widget_get_settings (GTK_WIDGET (self));
  static const char *const changes[] = { "notify::gtk-theme-name",
                                         "notify::gtk-application-prefer-dark-theme" };

  /* After GTK itself, which takes the new theme at the same signal. */
  for (size_t i = 0; i < G_N_ELEMENTS (changes); i++)
    g_signal_connect_object (settings, changes[i], G_CALLBACK (update_look), self,
                             G_CONNECT_SWAPPED | G_CONNECT_AFTER);
  update_look (self);
}
