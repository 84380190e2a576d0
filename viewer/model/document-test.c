/*
 * The session without any display: opening, planning, moving about, choosing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/test-session.h"

#include "db/store.h"
#include "planner/check.h"

#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

static void
test_opens (TestSession *f, gconstpointer unused)
{
  test_open (f->document, f->path);
  g_assert_cmpuint (f->changed & TESSERA_CHANGED_TRACE, !=, 0);
  g_assert_cmpuint (f->document->data->blocks->n_blocks, ==, 3);
  g_assert_nonnull (f->document->sheets[TESSERA_SIDE_LEFT]);
  g_assert_nonnull (f->document->sheets[TESSERA_SIDE_RIGHT]);
  /* 1 MiB beside 2 MiB, twice. */
  g_assert_cmpuint (f->document->data->bound_bytes, ==, 3 << 20);
  g_assert_cmpuint (f->document->planned->plan->height_bytes, ==, 3 << 20);
  g_assert_cmpuint (f->document->needs.bound_bytes, ==, 3 << 20);
  g_assert_cmpuint (f->document->needs.native_bytes, >=, 3 << 20);
  g_assert_cmpuint (f->document->needs.plan_bytes, >=, 3 << 20);
  g_assert_cmpstr (f->document->verdict.headline, !=, "");
}

static void
test_keeps_what_is_open (TestSession *f, gconstpointer unused)
{
  test_open (f->document, f->path);
  tessera_document_open (f->document, "/nowhere/at-all.pickle");
  test_session_settle (f);
  g_assert_nonnull (strstr (f->document->error, "at-all.pickle"));
  g_assert_nonnull (f->document->data);
  g_assert_cmpstr (f->document->path, ==, f->path);
}

static void
test_can_be_stopped (TestSession *f, gconstpointer unused)
{
  tessera_document_open (f->document, f->path);
  test_session_do (f, tessera_document_cancel);
  /* Stopped in time or not: never half open, never an error. */
  g_assert_cmpstr (f->document->error, ==, NULL);
  if (f->document->data != NULL)
    g_assert_nonnull (f->document->sheets[TESSERA_SIDE_LEFT]);
}

static void
test_close_drops_work (TestSession *f, gconstpointer unused)
{
  tessera_document_open (f->document, f->path);
  tessera_document_close (f->document);
  g_assert_false (tessera_document_is_busy (f->document));
  /* The dropped worker holds the document until it ends. */
  WAIT (G_OBJECT (f->document)->ref_count == 1, SLOW_MS);
  g_assert_null (f->document->data);
}

static void
test_view_stays_inside (TestSession *f, gconstpointer unused)
{
  const TesseraView *v = &f->document->view;

  test_open (f->document, f->path);
  double world = f->document->world_bytes;
  g_assert_true (test_is_fit (f->document));
  g_assert_cmpfloat (world, >=, 3 << 20);
  tessera_document_zoom (f->document, 4, 2, 0.5, world / 2);
  g_assert_cmpfloat_with_epsilon (v->t1 - v->t0, 0.25, 1e-9);
  g_assert_cmpfloat_with_epsilon (v->y1 - v->y0, world / 2, 1);
  /* The point under the pointer stays. */
  g_assert_cmpfloat_with_epsilon ((v->t0 + v->t1) / 2, 0.5, 1e-9);
  tessera_document_pan (f->document, 100, -100);
  g_assert_cmpfloat_with_epsilon (v->t1, 1, 1e-9);
  g_assert_cmpfloat_with_epsilon (v->y0, 0, 1e-6);
  g_assert_cmpfloat_with_epsilon (v->t1 - v->t0, 0.25, 1e-9);
  tessera_document_zoom (f->document, 1e30, 1e30, 1, 0);
  g_assert_cmpfloat (v->t1, >, v->t0);
  g_assert_cmpfloat (v->y1, >, v->y0);
  tessera_document_zoom (f->document, 1e-30, 1e-30, 1, 0);
  g_assert_true (test_is_fit (f->document));
  tessera_document_set_view (f->document, &(TesseraView){ NAN, 1, 0, INFINITY });
  g_assert_true (v->t0 >= 0 && v->t1 <= 1 && v->y0 >= 0 && v->y1 <= world);
}

static void
test_reveals_blocks (TestSession *f, gconstpointer unused)
{
  const TesseraView *v = &f->document->view;

  test_open (f->document, f->path);
  tessera_document_zoom (f->document, 50, 50, 0, 0);
  for (uint32_t block = 0; block < 3; block++)
    {
      TesseraView rect;

      tessera_document_reveal (f->document, block);
      g_assert_true (tessera_scene_block_rect (
          f->document->sheets[TESSERA_SIDE_LEFT]->scene, block, &rect));
      g_assert_true (rect.t0 >= v->t0 - 1e-9 && rect.t1 <= v->t1 + 1e-9);
      g_assert_true (rect.y0 >= v->y0 - 1 && rect.y1 <= v->y1 + 1);
    }
}

/* From nothing to what is looked at. */
static void
test_selection_begins_in_view (TestSession *f, gconstpointer unused)
{
  TesseraView last, all;

  test_open (f->document, f->path);
  all = f->document->view;
  g_assert_true (
      tessera_scene_block_rect (f->document->sheets[TESSERA_SIDE_LEFT]->scene, 2, &last));
  /* All of it, at the height of a block that was born before; none comes after it. */
  tessera_document_select_next (f->document, -1, TESSERA_SELECT_ONLY);
  g_assert_cmpuint (f->document->selected, ==, 2);
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_ONLY);
  g_assert_cmpuint (f->document->selected, ==, 2);
  tessera_document_select (f->document, TESSERA_NONE);
  tessera_document_set_view (f->document, &last);
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_ONLY);
  g_assert_cmpuint (f->document->selected, ==, 2);
  tessera_document_select (f->document, TESSERA_NONE);
  tessera_document_set_view (f->document, &last);
  tessera_document_select_next (f->document, -1, TESSERA_SELECT_MORE);
  g_assert_cmpuint (f->document->selected, ==, 2);
  /* Nobody is born at the very end: the nearest. */
  tessera_document_select (f->document, TESSERA_NONE);
  tessera_document_show_time (f->document, 0.999, 1);
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_ONLY);
  g_assert_cmpuint (f->document->selected, ==, 2);
  /* Under the pointer. */
  tessera_document_select (f->document, TESSERA_NONE);
  tessera_document_set_view (f->document, &all);
  tessera_document_hover (f->document, TESSERA_SIDE_LEFT, 1);
  tessera_document_select_next (f->document, 1, TESSERA_SELECT_ONLY);
  g_assert_cmpuint (f->document->selected, ==, 1);
}

/* What is opened shows the step that failed, at its full height, and shows it again whatever was
 * looked at; the plan that comes later changes neither. */
static void
test_opens_on_the_failure (TestSession *f, gconstpointer unused)
{
  g_autofree char *sample = test_sample_path ();
  const TesseraView *v = &f->document->view;
  g_autofree char *failed = NULL;

  if (sample == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  test_open (f->document, sample);
  const TesseraSheet *sheet = f->document->sheets[TESSERA_SIDE_LEFT];
  const TesseraStep *step = &f->document->data->structure->steps[3];
  TesseraView first = *v;
  failed = tessera_describe_address (
      f->document->data, f->document->data->blocks->block_of_event[f->document->moment]);
  g_assert_cmpuint (f->document->moment, ==, sheet->layout->ooms[0].event_index);
  g_assert_cmpuint (f->document->moment, >=, step->begin_index);
  g_assert_cmpstr (failed, ==, "failed");
  g_assert_cmpfloat (v->t0, <=, tessera_sheet_t_of (sheet, step->begin_index));
  g_assert_cmpfloat (v->t1, >=, tessera_sheet_t_of (sheet, step->end_index));
  g_assert_cmpfloat (v->t1 - v->t0, <, 0.2);
  g_assert_cmpfloat (v->y1 - v->y0, ==, f->document->world_bytes);
  tessera_document_fit (f->document);
  g_assert_true (test_is_fit (f->document));
  tessera_document_show_step (f->document, f->document->moment);
  g_assert_cmpmem (v, sizeof *v, &first, sizeof first);
}

static void
test_axis_keeps_events (TestSession *f, gconstpointer unused)
{
  test_open (f->document, f->path);
  const TesseraSheet *sheet = f->document->sheets[TESSERA_SIDE_LEFT];
  tessera_document_show_time (f->document, tessera_sheet_t_of (sheet, 3),
                              tessera_sheet_t_of (sheet, 5));
  tessera_document_set_axis_kind (f->document, TESSERA_AXIS_EVENTS);
  test_session_settle (f);
  sheet = f->document->sheets[TESSERA_SIDE_LEFT];
  g_assert_cmpint (sheet->axis->kind, ==, TESSERA_AXIS_EVENTS);
  g_assert_cmpint (f->document->sheets[TESSERA_SIDE_RIGHT]->axis->kind, ==,
                   TESSERA_AXIS_EVENTS);
  g_assert_cmpfloat (f->document->view.t0, <=, tessera_sheet_t_of (sheet, 3) + 1e-9);
  g_assert_cmpfloat (f->document->view.t1, >=, tessera_sheet_t_of (sheet, 5) - 1e-9);
}

static void
test_filter (TestSession *f, gconstpointer unused)
{
  const TesseraColouring *colouring;

  test_open (f->document, f->path);
  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_SIZE);
  g_assert_cmpint (f->document->paint->colouring->key, !=, TESSERA_COLOUR_SIZE);
  test_session_settle (f);
  g_assert_cmpint (f->document->paint->colouring->key, ==, TESSERA_COLOUR_SIZE);
  colouring = f->document->paint->colouring;
  size_t entry = colouring->block_entry[0];
  g_assert_null (f->document->paint->shown);
  tessera_document_filter (f->document, entry, TRUE);
  g_assert_nonnull (f->document->paint->shown);
  g_assert_true (f->document->paint->shown[0]);
  g_assert_cmpint (f->document->paint->shown[1], ==,
                   colouring->block_entry[1] == colouring->block_entry[0]);
  tessera_document_filter (f->document, entry, TRUE);
  g_assert_null (f->document->paint->shown);
  tessera_document_filter (f->document, entry, FALSE);
  g_assert_false (f->document->paint->shown[0]);
  tessera_document_show_all (f->document);
  g_assert_null (f->document->paint->shown);

  /* One after the other: a worker whose work was dropped still holds the document. */
  tessera_document_set_dark (f->document, TRUE);
  test_session_settle (f);
  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_STREAM);
  test_session_settle (f);
  g_assert_cmpint (f->document->paint->colouring->key, ==, TESSERA_COLOUR_STREAM);
  g_assert_true (f->document->paint->dark);
  g_assert_null (f->document->paint->shown);
}

/* The entries hold what is live at the chosen moment. */
static void
check_legend (TesseraDocument *document)
{
  const TesseraMoment *described = &document->described;
  uint64_t live_bytes = 0;

  g_assert_true (described->colouring == document->paint->colouring);
  for (size_t i = 0; i < described->colouring->n_entries; i++)
    live_bytes += described->live_bytes[i];
  g_assert_cmpuint (live_bytes, ==, described->parts.live_bytes);
}

static void
test_parts_sum (TestSession *f, gconstpointer unused)
{
  test_open (f->document, f->path);
  for (uint32_t event = 0; event < f->document->data->blocks->n_events; event++)
    {
      const TesseraParts *p = &f->document->described.parts;

      tessera_document_set_moment (f->document, event);
      test_session_settle (f);
      g_assert_cmpuint (p->event_index, ==, event);
      g_assert_cmpuint (p->live_bytes + p->rounding_bytes + p->pending_bytes +
                            p->new_segment_bytes + p->other_stream_bytes +
                            p->other_size_bytes + p->hard_bytes + p->soft_bytes +
                            p->cache_bytes,
                        ==, p->reserved_bytes);
      check_legend (f->document);
    }
  /* Colours by another key are counted anew. */
  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_STREAM);
  test_session_settle (f);
  check_legend (f->document);
}

/* However many were asked for: what is told in the end is of the last, and of the layout
 * that is shown. */
static void
test_latest_moment_wins (TestSession *f, gconstpointer unused)
{
  TesseraMoment described;

  test_open (f->document, f->path);
  for (int pass = 0; pass < 200; pass++)
    tessera_document_set_moment (f->document, (uint32_t) pass % 5);
  tessera_document_set_moment (f->document, 3);
  tessera_document_set_left_kind (f->document, TESSERA_LAYOUT_EXPANDABLE);
  test_session_settle (f);
  g_assert_cmpuint (f->document->described.parts.event_index, ==, 3);
  tessera_moment_at (f->document->data, f->document->sheets[TESSERA_SIDE_LEFT]->layout,
                     f->document->paint, 3, &described);
  g_assert_cmpuint (f->document->described.parts.reserved_bytes, ==,
                    described.parts.reserved_bytes);
  g_assert_cmpuint (f->document->described.n_largest, ==, described.n_largest);
  for (size_t i = 0; i < described.n_largest; i++)
    {
      g_assert_cmpuint (f->document->described.largest[i].block, ==,
                        described.largest[i].block);
      g_assert_cmpuint (f->document->described.largest[i].n_blocks, ==,
                        described.largest[i].n_blocks);
    }
}

static void
save (TestSession *f, TesseraSave what, const char *path)
{
  g_clear_pointer (&f->document->notice, g_free);
  g_clear_pointer (&f->document->error, g_free);
  tessera_document_save (f->document, what, FALSE, path);
  test_session_settle (f);
}

static void
test_exports (TestSession *f, gconstpointer unused)
{
  g_autofree char *path = g_strconcat (f->path, ".tsp", NULL);
  TesseraPlan *plan = NULL;
  TesseraLaw law;

  save (f, TESSERA_SAVE_PLAN, path);
  g_assert_nonnull (f->document->error);
  g_clear_pointer (&f->document->error, g_free);
  test_open (f->document, f->path);
  save (f, TESSERA_SAVE_PLAN, path);
  g_assert_cmpstr (f->document->error, ==, NULL);
  g_assert_nonnull (strstr (f->document->notice, path));
  WORKS (error, tessera_plan_load (path, &error, &plan));
  WORKS (error, tessera_check_plan (plan, f->document->data->trace, &law, &error));
  tessera_plan_free (plan);
  /* A plan's file, opened, takes the plan's place. */
  {
    const TesseraFollowed *before = f->document->planned;

    test_open (f->document, path);
    g_assert_true (f->document->planned != before);
    g_assert_cmpuint (f->document->planned->plan->height_bytes, ==, 3 << 20);
  }
  g_unlink (path);
}

static const struct
{
  TesseraSave what;
  const char *name;
  const char *begin; /* of the file */
} targets[] = {
  { TESSERA_SAVE_PICTURE, "a.png", "\x89PNG" },
  { TESSERA_SAVE_PICTURE, "a.svg", "<?xml" },
  { TESSERA_SAVE_REPORT, "a.html", "<!" },
  { TESSERA_SAVE_PLAN, "a.tsp", "" },
};

/* A path in a new folder, which must hold nothing else when it goes. */
static char *
target_new (size_t i)
{
  g_autofree char *folder = g_dir_make_tmp ("saves-XXXXXX", NULL);

  return g_build_filename (folder, targets[i].name, NULL);
}

static void
target_free (char *path)
{
  g_autofree char *folder = g_path_get_dirname (path);

  g_unlink (path);
  g_assert_cmpint (g_rmdir (folder), ==, 0);
  g_free (path);
}

/* The work is a worker's: the call comes back with nothing written yet said, and what it
 * reads stays alive though all is closed meanwhile. */
static void
test_saves_in_background (TestSession *f, gconstpointer unused)
{
  for (size_t i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      char *path = target_new (i);
      g_autofree char *bytes = NULL;
      size_t n_bytes = 0;

      test_open (f->document, f->path);
      g_clear_pointer (&f->document->notice, g_free);
      tessera_document_save (f->document, targets[i].what, TRUE, path);
      g_assert_nonnull (f->document->jobs[TESSERA_WORK_SAVE]);
      g_assert_null (f->document->notice);
      /* One at a time, aloud. */
      tessera_document_save (f->document, targets[i].what, TRUE, "/nowhere/second");
      g_assert_nonnull (strstr (f->document->error, "/nowhere/second"));
      test_session_do (f, tessera_document_close);
      g_assert_cmpstr (f->document->error, ==, NULL);
      g_assert_nonnull (strstr (f->document->notice, path));
      g_assert_true (g_file_get_contents (path, &bytes, &n_bytes, NULL));
      g_assert_cmpuint (n_bytes, >, 1000);
      g_assert_true (g_str_has_prefix (bytes, targets[i].begin));
      target_free (path);
    }
}

static void
test_failed_save_leaves_nothing (TestSession *f, gconstpointer unused)
{
  test_open (f->document, f->path);
  for (size_t i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      char *path = target_new (i);
      g_autofree char *inside = g_build_filename (path, "below", NULL);

      /* A folder is in the way. */
      g_assert_cmpint (g_mkdir (path, 0700), ==, 0);
      save (f, targets[i].what, path);
      g_assert_nonnull (f->document->error);
      g_assert_null (f->document->notice);
      g_assert_cmpint (g_rmdir (path), ==, 0);
      /* No such folder. */
      save (f, targets[i].what, inside);
      g_assert_nonnull (f->document->error);
      g_assert_nonnull (strstr (f->document->error, targets[i].name));
      target_free (path);
    }
  g_clear_pointer (&f->document->error, g_free);
}

/* Stopped, in time or not: what was there, or all of the new one. */
static void
test_stopped_save_is_whole (TestSession *f, gconstpointer unused)
{
  test_open (f->document, f->path);
  for (size_t i = 0; i < G_N_ELEMENTS (targets); i++)
    {
      char *path = target_new (i);
      g_autofree char *bytes = NULL;

      g_assert_true (g_file_set_contents (path, "old", -1, NULL));
      g_clear_pointer (&f->document->notice, g_free);
      tessera_document_save (f->document, targets[i].what, FALSE, path);
      test_session_do (f, tessera_document_cancel);
      g_assert_cmpstr (f->document->error, ==, NULL);
      g_assert_true (g_file_get_contents (path, &bytes, NULL, NULL));
      g_assert_cmpint (g_str_equal (bytes, "old"), ==, f->document->notice == NULL);
      target_free (path);
    }
}

/* What a block is, where the file tells it; a key that a person chose stays. */
static void
test_usual_colours (TestSession *f, gconstpointer unused)
{
  g_autofree char *sample = test_sample_path ();

  if (sample == NULL)
    {
      g_test_skip ("the sample is not there");
      return;
    }
  test_open (f->document, sample);
  g_assert_cmpint (f->document->paint->colouring->key, ==, TESSERA_COLOUR_CATEGORY);
  g_assert_cmpint (f->document->colour_key, ==, TESSERA_COLOUR_CATEGORY);
  g_assert_cmpuint (f->document->suggestions->len, >, 0);
  test_open (f->document, f->path);
  g_assert_cmpint (f->document->paint->colouring->key, ==, TESSERA_COLOUR_CLASS);
  g_assert_true (g_str_has_prefix (f->document->data->filling, "Fullest"));
  tessera_document_set_colour_key (f->document, TESSERA_COLOUR_CLASS);
  test_open (f->document, sample);
  g_assert_cmpint (f->document->paint->colouring->key, ==, TESSERA_COLOUR_CLASS);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                              \
  g_test_add ("/document/" name, TestSession, NULL, test_session_set_up_empty, function, \
              test_session_tear_down)
  ADD ("opens", test_opens);
  ADD ("usual colours", test_usual_colours);
  ADD ("keeps what is open", test_keeps_what_is_open);
  ADD ("can be stopped", test_can_be_stopped);
  ADD ("close drops work", test_close_drops_work);
  ADD ("view stays inside", test_view_stays_inside);
  ADD ("reveals blocks", test_reveals_blocks);
  ADD ("selection begins in view", test_selection_begins_in_view);
  ADD ("opens on the failure", test_opens_on_the_failure);
  ADD ("axis keeps events", test_axis_keeps_events);
  ADD ("filter", test_filter);
  ADD ("parts sum", test_parts_sum);
  ADD ("latest moment wins", test_latest_moment_wins);
  ADD ("exports", test_exports);
  ADD ("saves in the background", test_saves_in_background);
  ADD ("a failed save leaves nothing", test_failed_save_leaves_nothing);
  ADD ("a stopped save is whole", test_stopped_save_is_whole);
  return g_test_run ();
}
