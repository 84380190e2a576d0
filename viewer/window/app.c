/*
 * The application: options, files from outside, keys, pictures of a window.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/window/window-private.h"

#include <glib/gstdio.h>
#include <locale.h>
#include <stdlib.h>

/* A window that stays settled this long has drawn its last tile too. */
#define QUIET_MS 400
#define LOOK_EVERY_MS 50
#define MOST_TRIES 20

/* Of window.ini: what all panels have room in; and what no screen has. */
#define GROUP "window"
#define LEAST_WIDTH 640
#define LEAST_HEIGHT 400
#define MOST 16384

struct _TesseraApp
{
  GtkApplication parent_instance;

  GtkWidget *shown; /* the window that a screenshot is of; NULL: it has gone */
  char **actions;   /* done to the window before it, as g_action_print_detailed_name()
                       writes them; NULL at the end */
  size_t n_done;    /* of these */
  int quiet_ms;     /* so long the window is settled */
  int n_tries;
  int width, height;
  gboolean failed;
  gboolean wants_file; /* one was named */
};

/* The command line, as given. */
static struct
{
  char *screenshot, *size, *actions;
  int scale;
  gboolean dark, stacked, at_once;
} given;

G_DEFINE_TYPE (TesseraApp, tessera_app, ADW_TYPE_APPLICATION)

/* --- the size of the last window ----------------------------------------------------- */

static char *
path_of (void)
{
  return g_build_filename (g_get_user_config_dir (), "tessera", "window.ini", NULL);
}

void
tessera_window_restore_size (GtkWindow *window)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autofree char *path = path_of ();
  int width, height;

  if (!g_key_file_load_from_file (file, path, G_KEY_FILE_NONE, NULL))
    return;
  width = g_key_file_get_integer (file, GROUP, "width", NULL);
  height = g_key_file_get_integer (file, GROUP, "height", NULL);
  if (width < LEAST_WIDTH || height < LEAST_HEIGHT || width > MOST || height > MOST)
    return;
  gtk_window_set_default_size (window, width, height);
  if (g_key_file_get_boolean (file, GROUP, "maximized", NULL))
    gtk_window_maximize (window);
}

void
tessera_window_keep_size (GtkWindow *window)
{
  g_autoptr (GKeyFile) file = g_key_file_new ();
  g_autofree char *path = path_of ();
  g_autofree char *folder = g_path_get_dirname (path);
  int width, height;

  /* Of a window that is maximized this is the size that it goes back to. */
  gtk_window_get_default_size (window, &width, &height);
  g_key_file_set_integer (file, GROUP, "width", width);
  g_key_file_set_integer (file, GROUP, "height", height);
  g_key_file_set_boolean (file, GROUP, "maximized", gtk_window_is_maximized (window));
  if (g_mkdir_with_parents (folder, 0700) == 0)
    g_key_file_save_to_file (file, path, NULL);
}

/* --- actions -------------------------------------------------------------------------- */

static void
on_quit (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  GList *window;

  while ((window = gtk_application_get_windows (user)) != NULL)
    {
      if (given.screenshot == NULL)
        tessera_window_keep_size (window->data);
      gtk_window_destroy (window->data);
    }
}

static gboolean
on_close (GtkWindow *window, gpointer unused)
{
  tessera_window_keep_size (window);
  return FALSE;
}

/* As large as the last one was; nothing is shown yet. */
static GtkWidget *
remembering_window_new (GtkApplication *app)
{
  GtkWidget *window = tessera_window_new (app);

  tessera_window_restore_size (GTK_WINDOW (window));
  g_signal_connect (window, "close-request", G_CALLBACK (on_close), NULL);
  return window;
}

static void
on_about (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  adw_show_about_window (gtk_application_get_active_window (user), "application-name",
                         "Tessera", "application-icon", TESSERA_APPLICATION_ID, "version",
                         TESSERA_VERSION, "comments",
                         "Why does GPU memory run out, and how would it lie better?",
                         "license-type", GTK_LICENSE_APACHE_2_0, NULL);
}

static void
on_new_window (GSimpleAction *action, GVariant *parameter, gpointer user)
{
  gtk_window_present (GTK_WINDOW (remembering_window_new (user)));
}

static const GActionEntry entries[] = { { "quit", on_quit },
                                        { "about", on_about },
                                        { "new-window", on_new_window } };

/* --- a window as a picture ------------------------------------------------------------- */

GdkTexture *
tessera_widget_to_texture (GtkWidget *widget)
{
  g_autoptr (GdkPaintable) paintable = gtk_widget_paintable_new (widget);
  g_autoptr (GtkSnapshot) snapshot = gtk_snapshot_new ();
  GdkTexture *texture;
  GskRenderNode *node;
  GtkNative *native = gtk_widget_get_native (widget);
  int scale = gtk_widget_get_scale_factor (widget);
  /* With its frame, which a window's own width leaves out: anything else would scale. */
  int width = gdk_paintable_get_intrinsic_width (paintable);
  int height = gdk_paintable_get_intrinsic_height (paintable);

  gtk_snapshot_scale (snapshot, (float) scale, (float) scale);
  gdk_paintable_snapshot (paintable, snapshot, width, height);
  node = gtk_snapshot_to_node (snapshot);
  if (node == NULL || native == NULL)
    return NULL;
  texture = gsk_renderer_render_texture (
      gtk_native_get_renderer (native), node,
      &GRAPHENE_RECT_INIT (0, 0, (float) (width * scale), (float) (height * scale)));
  gsk_render_node_unref (node);
  return texture;
}

static void
do_action (GtkWidget *window, const char *name)
{
  g_autofree char *action = NULL;
  g_autoptr (GVariant) target = NULL;

  if (*name != '\0' && (!g_action_parse_detailed_name (name, &action, &target, NULL) ||
                        !gtk_widget_activate_action_variant (window, action, target)))
    g_printerr ("tessera-viewer: there is no action %s.\n", name);
}

/* Once. A picture of an error is a picture, but the caller wanted the file's. */
static void
tell_no_file (TesseraApp *self, TesseraWindow *window)
{
  if (!self->wants_file || tessera_window_get_document (window)->data != NULL)
    return;
  if (!self->failed)
    g_printerr ("tessera-viewer: %s\n", tessera_window_get_said (window));
  self->failed = TRUE;
}

/* Between frames there may be nothing to take yet: then FALSE, and TRUE after some. */
static gboolean
take_picture (TesseraApp *self, GtkWidget *window)
{
  g_autoptr (GdkTexture) texture = tessera_widget_to_texture (window);

  if ((texture == NULL || !gdk_texture_save_to_png (texture, given.screenshot)) &&
      self->n_tries++ < MOST_TRIES)
    {
      gtk_widget_queue_draw (window);
      return FALSE;
    }
  if (self->n_tries > MOST_TRIES)
    {
      g_printerr ("tessera-viewer: %s could not be written.\n", given.screenshot);
      self->failed = TRUE;
    }
  on_quit (NULL, NULL, self);
  return TRUE;
}

/* The first settled moment is when a trace is there for the actions to work on; each has
 * its whole effect before the next, and all is done before the picture. */
static gboolean
look (gpointer user)
{
  TesseraApp *self = user;
  GtkWidget *window = self->shown;
  const char *action = self->actions[self->n_done];

  if (window == NULL)
    return G_SOURCE_REMOVE;
  if (!given.at_once || action != NULL)
    {
      self->quiet_ms = tessera_window_is_settled (TESSERA_WINDOW (window))
                           ? self->quiet_ms + LOOK_EVERY_MS
                           : 0;
      if (self->quiet_ms < (action != NULL ? LOOK_EVERY_MS : QUIET_MS))
        return G_SOURCE_CONTINUE;
      tell_no_file (self, TESSERA_WINDOW (window));
    }
  if (action == NULL)
    return take_picture (self, window) ? G_SOURCE_REMOVE : G_SOURCE_CONTINUE;
  do_action (window, action);
  self->n_done++;
  self->quiet_ms = 0;
  return G_SOURCE_CONTINUE;
}

/* --- start --------------------------------------------------------------------------- */

static void
tessera_app_startup (GApplication *app)
{
  G_APPLICATION_CLASS (tessera_app_parent_class)->startup (app);
  /* Its words are English, whatever the locale: 33.17 GiB of 11,411 blocks, as the command
     writes them and the fields read them; left is where the plans' panel says that it is,
     and percents stand behind their numbers. */
  setlocale (LC_NUMERIC, "C");
  gtk_widget_set_default_direction (GTK_TEXT_DIR_LTR);
  g_action_map_add_action_entries (G_ACTION_MAP (app), entries, G_N_ELEMENTS (entries),
                                   app);
  tessera_app_add_keys (GTK_APPLICATION (app));
  if (given.dark)
    adw_style_manager_set_color_scheme (adw_style_manager_get_default (),
                                        ADW_COLOR_SCHEME_FORCE_DARK);
}

static GtkWidget *
show_window (TesseraApp *self)
{
  GtkApplication *app = GTK_APPLICATION (self);
  GtkWidget *window =
      given.screenshot != NULL ? tessera_window_new (app) : remembering_window_new (app);

  if (self->width > 0)
    gtk_window_set_default_size (GTK_WINDOW (window), self->width, self->height);
  if (given.stacked)
    gtk_widget_activate_action (window, "win.arrange", "s", "vertical");
  gtk_window_present (GTK_WINDOW (window));
  if (given.screenshot != NULL)
    {
      g_set_weak_pointer (&self->shown, window);
      g_timeout_add (LOOK_EVERY_MS, look, self);
    }
  return window;
}

static void
tessera_app_activate (GApplication *app)
{
  show_window (TESSERA_APP (app));
}

static void
tessera_app_open (GApplication *app, GFile **files, int n_files, const char *hint)
{
  TESSERA_APP (app)->wants_file = TRUE;
  for (int i = 0; i < n_files; i++)
    {
      GtkWidget *window = show_window (TESSERA_APP (app));

      tessera_window_open (TESSERA_WINDOW (window), files[i]);
    }
}

static int
tessera_app_handle_local_options (GApplication *app, GVariantDict *options)
{
  TesseraApp *self = TESSERA_APP (app);

  self->actions = g_strsplit (given.actions != NULL ? given.actions : "", ",", -1);
  /* GDK reads it when it opens the display, which comes after. */
  if (given.scale != 0)
    {
      g_autofree char *text = g_strdup_printf ("%d", CLAMP (given.scale, 1, 4));

      g_setenv ("GDK_SCALE", text, TRUE);
    }
  if (given.size != NULL &&
      (sscanf (given.size, "%dx%d", &self->width, &self->height) != 2 ||
       self->width <= 0 || self->height <= 0))
    {
      g_printerr ("tessera-viewer: --size wants WIDTHxHEIGHT, for example 1280x720.\n");
      return 2;
    }
  if (given.screenshot != NULL)
    g_application_set_flags (app,
                             g_application_get_flags (app) | G_APPLICATION_NON_UNIQUE);
  return -1;
}

static void
tessera_app_finalize (GObject *object)
{
  TesseraApp *self = TESSERA_APP (object);

  g_clear_weak_pointer (&self->shown);
  g_strfreev (self->actions);
  G_OBJECT_CLASS (tessera_app_parent_class)->finalize (object);
}

static void
tessera_app_class_init (TesseraAppClass *class)
{
  GApplicationClass *app_class = G_APPLICATION_CLASS (class);

  G_OBJECT_CLASS (class)->finalize = tessera_app_finalize;
  app_class->startup = tessera_app_startup;
  app_class->activate = tessera_app_activate;
  app_class->open = tessera_app_open;
  app_class->handle_local_options = tessera_app_handle_local_options;
}

static void
tessera_app_init (TesseraApp *self)
{
  static const GOptionEntry options[] = {
    { "screenshot", 0, 0, G_OPTION_ARG_FILENAME, &given.screenshot,
      "Write the window as a PNG and quit", "PNG" },
    { "size", 0, 0, G_OPTION_ARG_STRING, &given.size, "Size of the window", "WxH" },
    { "scale", 0, 0, G_OPTION_ARG_INT, &given.scale, "Device pixels per pixel", "N" },
    { "dark", 0, 0, G_OPTION_ARG_NONE, &given.dark, "Dark colours", NULL },
    { "stacked", 0, 0, G_OPTION_ARG_NONE, &given.stacked, "One layout above the other",
      NULL },
    { "at-once", 0, 0, G_OPTION_ARG_NONE, &given.at_once,
      "Screenshot of work that still goes on", NULL },
    { "actions", 0, 0, G_OPTION_ARG_STRING, &given.actions,
      "Actions before the screenshot", "ACTION,..." },
    { NULL },
  };

  g_application_add_main_option_entries (G_APPLICATION (self), options);
  g_application_set_option_context_parameter_string (G_APPLICATION (self), "[FILE...]");
  g_application_set_option_context_summary (
      G_APPLICATION (self),
      "Shows why GPU memory runs out, from a PyTorch memory snapshot or a .tsr trace.");
}

TesseraApp *
tessera_app_new (void)
{
  return g_object_new (TESSERA_TYPE_APP, "application-id", TESSERA_APPLICATION_ID,
                       "flags", G_APPLICATION_HANDLES_OPEN, "resource-base-path",
                       "/org/tessera/Viewer", NULL);
}

gboolean
tessera_app_has_failed (TesseraApp *self)
{
  return self->failed;
}
