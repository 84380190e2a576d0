/*
 * A real hand for tests: X events through XTest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-hand.h"

#include <X11/XKBlib.h>
#include <X11/extensions/XTest.h>
#include <gdk/x11/gdkx.h>

static Display *
display (void)
{
  return gdk_x11_display_get_xdisplay (gdk_display_get_default ());
}

void
test_hand_point (GtkWidget *widget, double share_x, double share_y)
{
  GtkNative *native = gtk_widget_get_native (widget);
  graphene_point_t inside =
      GRAPHENE_POINT_INIT ((float) (share_x * gtk_widget_get_width (widget)),
                           (float) (share_y * gtk_widget_get_height (widget)));
  graphene_point_t p;
  double ox, oy;
  int scale = gtk_widget_get_scale_factor (widget), x, y;
  Window child;

  gtk_native_get_surface_transform (native, &ox, &oy);
  g_assert_true (gtk_widget_compute_point (widget, GTK_WIDGET (native), &inside, &p));
  XTranslateCoordinates (display (),
                         gdk_x11_surface_get_xid (gtk_native_get_surface (native)),
                         DefaultRootWindow (display ()), (int) ((p.x + ox) * scale),
                         (int) ((p.y + oy) * scale), &x, &y, &child);
  XTestFakeMotionEvent (display (), -1, x, y, 0);
  XFlush (display ());
}

void
test_hand_button (unsigned number, gboolean down)
{
  XTestFakeButtonEvent (display (), number, down, 0);
  XFlush (display ());
}

void
test_hand_key (KeySym symbol, gboolean down)
{
  XTestFakeKeyEvent (display (), XKeysymToKeycode (display (), symbol), down, 0);
  XFlush (display ());
}

void
test_hand_press (GdkModifierType modifiers, KeySym symbol)
{
  static const struct
  {
    GdkModifierType modifier;
    KeySym symbol;
  } held[] = { { GDK_CONTROL_MASK, XK_Control_L },
               { GDK_SHIFT_MASK, XK_Shift_L },
               { GDK_ALT_MASK, XK_Alt_L } };

  for (size_t i = 0; i < G_N_ELEMENTS (held); i++)
    if (modifiers & held[i].modifier)
      test_hand_key (held[i].symbol, TRUE);
  test_hand_key (symbol, TRUE);
  test_hand_key (symbol, FALSE);
  for (size_t i = 0; i < G_N_ELEMENTS (held); i++)
    if (modifiers & held[i].modifier)
      test_hand_key (held[i].symbol, FALSE);
}

/* The key of @symbol and whether Shift is held for it. */
static KeyCode
key_of (KeySym symbol, gboolean *out_shift)
{
  KeyCode code = XKeysymToKeycode (display (), symbol);

  g_assert_cmpint (code, !=, 0);
  *out_shift = XkbKeycodeToKeysym (display (), code, 0, 0) != symbol;
  if (*out_shift)
    g_assert_cmpuint (XkbKeycodeToKeysym (display (), code, 0, 1), ==, symbol);
  return code;
}

void
test_hand_type (const char *text)
{
  for (; *text != '\0'; text = g_utf8_next_char (text))
    {
      gboolean shift;
      KeyCode code = key_of (gdk_unicode_to_keyval (g_utf8_get_char (text)), &shift);

      if (shift)
        test_hand_key (XK_Shift_L, TRUE);
      XTestFakeKeyEvent (display (), code, TRUE, 0);
      XTestFakeKeyEvent (display (), code, FALSE, 0);
      if (shift)
        test_hand_key (XK_Shift_L, FALSE);
    }
  XFlush (display ());
}

void
test_hand_focus (GtkWindow *window)
{
  GdkSurface *surface = gtk_native_get_surface (GTK_NATIVE (window));

  XSetInputFocus (display (), gdk_x11_surface_get_xid (surface), RevertToParent,
                  CurrentTime);
  XFlush (display ());
}

gboolean
test_hand_is_off (GtkWidget *widget)
{
  g_autoptr (GListModel) controllers = gtk_widget_observe_controllers (widget);

  for (guint i = 0; i < g_list_model_get_n_items (controllers); i++)
    {
      g_autoptr (GObject) controller = g_list_model_get_item (controllers, i);

      if (GTK_IS_GESTURE (controller) && gtk_gesture_is_active (GTK_GESTURE (controller)))
        return FALSE;
    }
  return TRUE;
}
