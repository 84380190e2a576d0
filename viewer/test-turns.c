/*
 * How long the turns of the main loop took. See test-turns.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-turns.h"

#include <time.h>

typedef enum
{
  AROUND, /* handlers, idles */
  UPDATE,
  LAYOUT,
  SNAPSHOT,
  RENDER,
  N_PARTS
} Part;

typedef gboolean (*Dispatch) (GSource *, GSourceFunc, gpointer);
typedef void (*Snapshot) (GtkWidget *, GtkSnapshot *);

/* There is one main loop. */
static struct
{
  TestTurns *turns;
  TestTurn now;
  double parts_ms[N_PARTS];
  Part part; /* that is at work since */
  double since_ms;
  gint64 begin_us;
  double begin_ms;
  Dispatch idle, timeout;
  Snapshot snapshot;
} watch;

double
test_cpu_ms (gboolean all_threads)
{
  struct timespec now;

  clock_gettime (all_threads ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &now);
  return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

double
test_turn_without_render_ms (const TestTurn *turn)
{
  return turn->all_ms - turn->render_ms;
}

/* --- turns ------------------------------------------------------------------------ */

static void
go_on_with (Part part)
{
  double now_ms = test_cpu_ms (FALSE);

  watch.parts_ms[watch.part] += now_ms - watch.since_ms;
  watch.since_ms = now_ms;
  watch.part = part;
}

static void
begin_turn (void)
{
  watch.now = (TestTurn){ 0 };
  for (int i = 0; i < N_PARTS; i++)
    watch.parts_ms[i] = 0;
  watch.part = AROUND;
  watch.begin_us = g_get_monotonic_time ();
  watch.begin_ms = watch.since_ms = test_cpu_ms (FALSE);
}

static void
end_turn (void)
{
  TestTurns *turns = watch.turns;
  TestTurn *now = &watch.now;

  go_on_with (AROUND);
  now->wall_ms = (double) (g_get_monotonic_time () - watch.begin_us) / 1e3;
  now->all_ms = watch.since_ms - watch.begin_ms;
  now->update_ms = watch.parts_ms[UPDATE];
  now->layout_ms = watch.parts_ms[LAYOUT];
  now->snapshot_ms = watch.parts_ms[SNAPSHOT];
  now->render_ms = watch.parts_ms[RENDER];
  if (now->all_ms > turns->longest.all_ms)
    turns->longest = *now;
  if (test_turn_without_render_ms (now) > test_turn_without_render_ms (&turns->drawn))
    turns->drawn = *now;
  turns->wall_ms = MAX (turns->wall_ms, now->wall_ms);
}

void
test_turns_reset (void)
{
  *watch.turns = (TestTurns){ 0 };
  begin_turn ();
}

/* The loop asks what is waiting: the turn before is over. */
static int
on_poll (GPollFD *fds, guint n_fds, int timeout_ms)
{
  int n;

  end_turn ();
  n = g_poll (fds, n_fds, timeout_ms);
  begin_turn ();
  return n;
}

/* --- what is called --------------------------------------------------------------- */

static gboolean
dispatch (Dispatch original, GSource *source, GSourceFunc call, gpointer user)
{
  /* Strings that name sources are kept as long as the program runs, those of GTK and
   * ours at least; a source may be gone afterwards. */
  const char *name = g_source_get_name (source);
  double begin_ms = test_cpu_ms (FALSE), ms;
  gboolean stays;

  name = name != NULL ? g_intern_string (name) : NULL;
  stays = original (source, call, user);
  ms = test_cpu_ms (FALSE) - begin_ms;
  if (ms > watch.now.longest_ms)
    {
      watch.now.longest_ms = ms;
      watch.now.what = name;
    }
  return stays;
}

static gboolean
dispatch_idle (GSource *source, GSourceFunc call, gpointer user)
{
  return dispatch (watch.idle, source, call, user);
}

static gboolean
dispatch_timeout (GSource *source, GSourceFunc call, gpointer user)
{
  return dispatch (watch.timeout, source, call, user);
}

/* --- frames ----------------------------------------------------------------------- */

/* A part of a frame begins: what it is, is the hook's data. */
static gboolean
on_part (GSignalInvocationHint *hint, guint n_values, const GValue *values, gpointer part)
{
  go_on_with ((Part) GPOINTER_TO_INT (part));
  return TRUE;
}

/* Is called within a window's painting, which is the renderer's but for this. */
static void
snapshot_window (GtkWidget *widget, GtkSnapshot *snapshot)
{
  Part before = watch.part;

  go_on_with (SNAPSHOT);
  watch.snapshot (widget, snapshot);
  go_on_with (before);
}

static void
watch_frames (void)
{
  static const struct
  {
    const char *signal;
    Part part;
  } parts[] = { { "before-paint", AROUND },
                { "update", UPDATE },
                { "layout", LAYOUT },
                { "paint", RENDER },
                { "after-paint", AROUND } };
  gpointer clock_class = g_type_class_ref (GDK_TYPE_FRAME_CLOCK);
  GtkWidgetClass *window_class = g_type_class_ref (GTK_TYPE_WINDOW);

  for (size_t i = 0; i < G_N_ELEMENTS (parts); i++)
    g_signal_add_emission_hook (g_signal_lookup (parts[i].signal, GDK_TYPE_FRAME_CLOCK),
                                0, on_part, GINT_TO_POINTER (parts[i].part), NULL);
  /* Classes of windows that are made from now on inherit it. */
  watch.snapshot = window_class->snapshot;
  window_class->snapshot = snapshot_window;
  g_type_class_unref (clock_class);
}

void
test_turns_watch (TestTurns *turns)
{
  watch.turns = turns;
  watch.idle = g_idle_funcs.dispatch;
  watch.timeout = g_timeout_funcs.dispatch;
  g_idle_funcs.dispatch = dispatch_idle;
  g_timeout_funcs.dispatch = dispatch_timeout;
  watch_frames ();
  g_main_context_set_poll_func (NULL, on_poll);
  test_turns_reset ();
}
