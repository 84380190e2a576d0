/*
 * A document for tests: three blocks opened, closed without a leak.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/test-session.h"

#include <glib/gstdio.h>

static void
on_changed (TesseraDocument *document, guint what, TestSession *session)
{
  session->changed |= what;
}

void
test_session_set_up_empty (TestSession *session, gconstpointer unused)
{
  session->document = tessera_document_new ();
  session->path = test_three_blocks_path ();
  session->kept = g_strconcat (session->path, ".edits.json", NULL);
  g_signal_connect (session->document, "changed", G_CALLBACK (on_changed), session);
}

void
test_session_set_up (TestSession *session, gconstpointer unused)
{
  test_session_set_up_empty (session, NULL);
  test_open (session->document, session->path);
}

void
test_session_tear_down (TestSession *session, gconstpointer unused)
{
  tessera_document_close (session->document);
  /* Jobs that were dropped hold it until they hear of it. */
  WAIT (!tessera_document_is_busy (session->document) &&
            G_OBJECT (session->document)->ref_count == 1,
        SLOW_MS);
  g_assert_finalize_object (session->document);
  g_unlink (session->path);
  g_unlink (session->kept);
  g_free (session->path);
  g_free (session->kept);
}

void
test_session_settle (TestSession *session)
{
  WAIT (!tessera_document_is_busy (session->document), SLOW_MS);
}

void
test_session_do (TestSession *session, void (*act) (TesseraDocument *))
{
  act (session->document);
  test_session_settle (session);
}

void
test_session_reopen (TestSession *session)
{
  tessera_document_close (session->document);
  test_session_settle (session);
  test_open (session->document, session->path);
}
