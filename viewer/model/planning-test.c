/*
 * A plan that takes long: what is known while it is made, and what a stop keeps.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/store.h"
#include "planner/check.h"
#include "viewer/model/document.h"
#include "viewer/test-session.h"

#include <glib/gstdio.h>
#include <string.h>

static void
set_up (TestSession *f, gconstpointer unused)
{
  f->document = tessera_document_new ();
  f->path = test_hard_path ();
  f->kept = g_strconcat (f->path, ".edits.json", NULL);
  tessera_document_open (f->document, f->path);
}

static gboolean
is_planning (TestSession *f)
{
  TesseraJob *job = f->document->jobs[TESSERA_WORK_PLAN];

  return job != NULL && tessera_job_news (job).height_bytes > 0;
}

/* Checked, said to be cut short, and good for export. */
static void
assert_cut_short (TestSession *f)
{
  const TesseraPlan *plan = f->document->planned->plan;
  TesseraLaw law;
  TesseraError error = { 0 };

  g_assert_cmpint (plan->cut_short, ==, TESSERA_CUT_BY_PERSON);
  g_assert_true (plan->checked);
  g_assert_cmpint (tessera_check_plan (plan, f->document->data->trace, &law, &error), ==,
                   TESSERA_OK);
  g_assert_false (f->document->planned->request.is_preview);
  g_assert_null (tessera_document_why_no_export (f->document));
}

static void
assert_exported_cut (TestSession *f)
{
  g_autofree char *path = g_strconcat (f->path, ".tsp", NULL);
  TesseraPlan *plan;
  TesseraError error = { 0 };

  tessera_document_save (f->document, TESSERA_SAVE_PLAN, FALSE, path);
  test_session_settle (f);
  g_assert_nonnull (f->document->notice);
  g_assert_nonnull (strstr (f->document->notice, "cut short"));
  g_assert_cmpint (tessera_plan_load (path, &error, &plan), ==, TESSERA_OK);
  g_assert_cmpint (plan->cut_short, ==, TESSERA_CUT_BY_PERSON);
  tessera_plan_free (plan);
  g_unlink (path);
}

/* What planning gives with nobody looking on. */
static uint64_t
full_digest (TestSession *f)
{
  const TesseraData *data = f->document->data;
  TesseraPlanOptions options = { .first_step = -1, .last_step = -1 };
  TesseraPlan *plan;
  TesseraError error = { 0 };
  uint64_t digest;

  g_assert_cmpint (tessera_plan_trace (data->trace, data->blocks, data->structure,
                                       &options, &error, &plan),
                   ==, TESSERA_OK);
  digest = plan->slot_digest;
  tessera_plan_free (plan);
  return digest;
}

static void
test_stop_keeps_best (TestSession *f, gconstpointer unused)
{
  TesseraNews news;
  uint64_t cut_bytes;
  g_autofree char *words = NULL;

  WAIT (is_planning (f), SLOW_MS);
  news = tessera_job_news (f->document->jobs[TESSERA_WORK_PLAN]);
  g_assert_cmpuint (news.bound_bytes, ==, f->document->needs.bound_bytes);
  g_assert_cmpuint (news.height_bytes, >, news.bound_bytes);
  words = tessera_describe_news (&news);
  g_assert_nonnull (strstr (words, " so far, bound 256.00 MiB (+"));
  tessera_document_cancel (f->document);
  test_session_settle (f);
  assert_cut_short (f);
  cut_bytes = f->document->planned->plan->height_bytes;
  g_assert_cmpuint (cut_bytes, <=, news.height_bytes);
  g_assert_cmpstr (tessera_document_plan_name (f->document, f->document->planned), ==,
                   "free, cut short");
  assert_exported_cut (f);
  tessera_document_plan (f->document);
  test_session_settle (f);
  g_assert_cmpint (f->document->planned->plan->cut_short, ==, TESSERA_CUT_NOT);
  g_assert_cmpuint (f->document->planned->plan->height_bytes, <=, cut_bytes);
  g_assert_cmpuint (f->document->planned->plan->slot_digest, ==, full_digest (f));
  g_assert_cmpuint (tessera_document_n_kept (f->document), ==, 2);
}

/* At the first moment, where the preview is likely to be lower. */
static void
test_never_above_preview (TestSession *f, gconstpointer unused)
{
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);
  uint64_t preview_bytes;

  WAIT (is_planning (f), SLOW_MS);
  tessera_document_cancel (f->document);
  test_session_settle (f);
  tessera_document_select (f->document, 1);
  tessera_document_edit_selection (f->document, &made, FALSE);
  WAIT (f->document->planned->request.is_preview, SLOW_MS);
  preview_bytes = f->document->planned->plan->height_bytes;
  g_assert_nonnull (f->document->jobs[TESSERA_WORK_PLAN]);
  g_assert_nonnull (tessera_document_why_no_export (f->document));
  tessera_document_cancel (f->document);
  test_session_settle (f);
  assert_cut_short (f);
  g_assert_cmpuint (f->document->planned->plan->n_edits, ==, 1);
  g_assert_cmpuint (f->document->planned->plan->height_bytes, <=, preview_bytes);
  assert_exported_cut (f);
}

/* What a newer wish takes the place of is not kept. */
static void
test_dropped_is_gone (TestSession *f, gconstpointer unused)
{
  WAIT (is_planning (f), SLOW_MS);
  tessera_document_plan (f->document);
  WAIT (is_planning (f), SLOW_MS);
  g_assert_null (f->document->planned);
  tessera_document_cancel (f->document);
  test_session_settle (f);
  assert_cut_short (f);
  g_assert_cmpuint (tessera_document_n_kept (f->document), ==, 1);
}

static void
count_reported (TesseraDocument *document, guint what, guint *n_reported)
{
  *n_reported += (what & TESSERA_CHANGED_WORK) != 0;
}

/* Each telling draws the window: what tells with each step of the planner keeps the main
 * thread busy for as long as a plan takes. And nothing is told of what is over. */
static void
test_reported_seldom (TestSession *f, gconstpointer unused)
{
  gboolean passed = FALSE;
  guint n_reported = 0;
  gint64 begin_us;
  double most;

  WAIT (is_planning (f), SLOW_MS);
  g_signal_connect (f->document, "changed", G_CALLBACK (count_reported), &n_reported);
  begin_us = g_get_monotonic_time ();
  g_timeout_add (600, test_set_true, &passed);
  WAIT (passed, SLOW_MS);
  g_assert_nonnull (f->document->jobs[TESSERA_WORK_PLAN]);
  most = (double) (g_get_monotonic_time () - begin_us) / 1e6 * 16 + 3;
  g_test_message ("%u of %.0f", n_reported, most);
  g_assert_cmpuint (n_reported, >, 1);
  g_assert_cmpfloat (n_reported, <=, most);
  tessera_document_close (f->document);
  n_reported = 0;
  passed = FALSE;
  g_timeout_add (200, test_set_true, &passed);
  WAIT (passed, SLOW_MS);
  g_assert_cmpuint (n_reported, ==, 0);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                              \
  g_test_add ("/planning/" name, TestSession, NULL, set_up, function,                    \
              test_session_tear_down)
  ADD ("a stop keeps the best", test_stop_keeps_best);
  ADD ("never above the preview", test_never_above_preview);
  ADD ("what was dropped is gone", test_dropped_is_gone);
  ADD ("told seldom", test_reported_seldom);
  return g_test_run ();
}
