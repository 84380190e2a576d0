/*
 * Edits in the session: made, undone, kept, planned again; without a display.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/test-session.h"

#include "edits/edits.h"

#include <glib/gstdio.h>

static void
edit (TestSession *f, TesseraEdit edit)
{
  tessera_document_edit_selection (f->document, &edit, TRUE);
  test_session_settle (f);
  g_assert_cmpstr (f->document->error, ==, NULL);
}

static const TesseraEdit *
edit_at (TestSession *f, size_t index)
{
  size_t n;
  const TesseraEdit *edits = tessera_history_get (f->document->history, &n);

  g_assert_cmpuint (index, <, n);
  return &edits[index];
}

/* An edit of each kind is about what was selected, has a name, stands, and is there again
 * when the file is. */
static void
test_every_kind (TestSession *f, gconstpointer unused)
{
  for (int kind = TESSERA_EDIT_MERGE; kind <= TESSERA_EDIT_CAP; kind++)
    {
      TesseraEdit made = tessera_edit_of ((TesseraEditKind) kind);
      size_t before = tessera_document_n_standing (f->document);

      if (kind == TESSERA_EDIT_MERGE || kind == TESSERA_EDIT_GROUP)
        made.group = strdup (kind == TESSERA_EDIT_GROUP ? "mine" : "both");
      if (kind == TESSERA_EDIT_MOVE)
        made.group = strdup ("mine");
      if (kind == TESSERA_EDIT_CLASS)
        made.lifetime_class = TESSERA_CLASS_TRANSIENT;
      if (kind == TESSERA_EDIT_SPLIT)
        made.by = TESSERA_SPLIT_SIZE;
      if (kind == TESSERA_EDIT_CAP)
        made.at = 64 << 20;
      test_session_do (f, tessera_document_select_all);
      if (kind == TESSERA_EDIT_PIN)
        tessera_document_select (f->document, 1);
      tessera_document_edit_selection (f->document, &made, TRUE);
      WAIT (f->document->jobs[TESSERA_WORK_EDIT] == NULL, SLOW_MS);
      g_assert_cmpuint (tessera_document_n_standing (f->document), ==, before + 1);
      g_assert_cmpint (edit_at (f, before)->kind, ==, kind);
      g_assert_cmpstr (edit_at (f, before)->name, !=, "");
      g_assert_cmpint (edit_at (f, before)->created_s, >, 0);
      tessera_document_undo (f->document);
      g_assert_cmpuint (tessera_document_n_standing (f->document), ==, before);
      tessera_document_redo (f->document);
      g_assert_cmpuint (tessera_document_n_standing (f->document), ==, before + 1);
    }
  test_session_settle (f);
  {
    g_autofree char *before = tessera_history_to_json (f->document->history);
    g_autofree char *after = NULL;

    g_clear_pointer (&f->document->error, g_free);
    test_session_reopen (f);
    after = tessera_history_to_json (f->document->history);
    g_assert_cmpstr (after, ==, before);
  }
}

static void
test_undo_is_kept (TestSession *f, gconstpointer unused)
{
  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  edit (f, tessera_edit_of (TESSERA_EDIT_APART));
  test_session_do (f, tessera_document_undo);
  test_session_reopen (f);
  g_assert_cmpuint (tessera_document_n_edits (f->document), ==, 2);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
  tessera_document_go_to_edits (f->document, 2);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 2);
  tessera_document_go_to_edits (f->document, 0);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 0);
  test_session_settle (f);
  tessera_document_rename_edit (f->document, 1, "  not beside each other ");
  test_session_settle (f);
  test_session_reopen (f);
  g_assert_cmpstr (edit_at (f, 1)->name, ==, "not beside each other");
}

/* The plan of no edits comes back when all are undone, and cannot be exported before. */
static void
test_plan_follows (TestSession *f, gconstpointer unused)
{
  uint64_t first = f->document->planned->plan->slot_digest, edited;
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);

  g_assert_null (tessera_document_why_no_export (f->document));
  tessera_document_select (f->document, 1);
  tessera_document_edit_selection (f->document, &made, TRUE);
  WAIT (tessera_document_n_standing (f->document) == 1, SLOW_MS);
  g_assert_false (tessera_document_is_plan_current (f->document));
  g_assert_nonnull (tessera_document_why_no_export (f->document));
  test_session_settle (f);
  g_assert_true (tessera_document_is_plan_current (f->document));
  g_assert_false (f->document->planned->request.is_preview);
  g_assert_cmpuint (f->document->planned->plan->n_edits, ==, 1);
  g_assert_cmpuint (f->document->former_bytes, ==, 3 << 20);
  edited = f->document->planned->plan->slot_digest;
  g_assert_cmpuint (edited, !=, first);
  test_session_do (f, tessera_document_undo);
  g_assert_cmpuint (f->document->planned->plan->slot_digest, ==, first);
  g_assert_cmpuint (f->document->planned->plan->n_edits, ==, 0);
  test_session_do (f, tessera_document_redo);
  g_assert_cmpuint (f->document->planned->plan->slot_digest, ==, edited);
}

/* What is left to the dynamic allocator is told as such, and no miss that needs a look.
 */
static void
test_left (TestSession *f, gconstpointer unused)
{
  const TesseraLayout *layout;
  g_autofree char *place = NULL, *other = NULL;

  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  test_session_settle (f);
  layout = f->document->planned->layout;
  g_assert_cmpuint (f->document->planned->plan->n_unplanned, >, 0);
  g_assert_cmpuint (layout->n_planned_misses, >, 0);
  g_assert_cmpuint (layout->n_misses, ==, layout->n_planned_misses);
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    if (f->document->sheets[side] != NULL && f->document->sheets[side]->layout == layout)
      {
        place = tessera_describe_place (f->document->sheets[side], 1);
        other = tessera_describe_place (f->document->sheets[side], 0);
      }
  g_assert_nonnull (place);
  g_assert_nonnull (strstr (place, ", left to the dynamic allocator"));
  g_assert_null (strstr (other, "left to"));
}

/* Stopped, the plan that was stays; it can be asked for again. */
static void
test_cancel (TestSession *f, gconstpointer unused)
{
  TesseraFollowed *before = tessera_followed_ref (f->document->planned);

  tessera_document_select (f->document, 1);
  {
    TesseraEdit made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);

    tessera_document_edit_selection (f->document, &made, TRUE);
  }
  WAIT (f->document->jobs[TESSERA_WORK_PLAN] != NULL, SLOW_MS);
  test_session_do (f, tessera_document_cancel);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
  /* So short a trace may be planned before it hears of it. */
  if (!tessera_document_is_plan_current (f->document))
    g_assert_nonnull (tessera_document_why_no_export (f->document));
  tessera_document_plan (f->document, FALSE);
  test_session_settle (f);
  g_assert_true (tessera_document_is_plan_current (f->document));
  tessera_followed_unref (before);
}

static void
pin (TestSession *f, uint32_t block, uint64_t offset_bytes)
{
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_PIN);

  made.at = offset_bytes;
  tessera_document_select (f->document, block);
  tessera_document_edit_selection (f->document, &made, TRUE);
  test_session_settle (f);
}

/* A and B live at the same time: at one place they cannot be. */
static void
test_conflict (TestSession *f, gconstpointer unused)
{
  const TesseraLayout *layout;

  pin (f, 0, 8 << 20);
  g_assert_cmpstr (f->document->error, ==, NULL);
  layout = f->document->planned->layout;
  g_assert_cmpuint (layout->addr[0], ==, layout->pool_addr + (8 << 20));
  TesseraFollowed *former = f->document->planned;
  pin (f, 1, 8 << 20);
  g_assert_nonnull (f->document->error);
  g_test_message ("%s", f->document->error);
  g_assert_true (g_str_has_prefix (f->document->error, "The edits \""));
  g_assert_true (g_str_has_suffix (f->document->error, " would share one."));
  g_clear_pointer (&f->document->error, g_free);
  g_assert_cmpuint (f->document->conflict.first + f->document->conflict.second, ==, 1);
  g_assert_true (f->document->planned == former);
  g_assert_nonnull (tessera_document_why_no_export (f->document));
  test_session_do (f, tessera_document_undo);
  g_assert_cmpstr (f->document->error, ==, NULL);
  g_assert_cmpuint (f->document->conflict.first, ==, TESSERA_NONE);
  g_assert_null (tessera_document_why_no_export (f->document));
  test_session_do (f, tessera_document_redo);
  g_assert_cmpuint (f->document->conflict.first, !=, TESSERA_NONE);
  g_clear_pointer (&f->document->error, g_free);
}

static void
test_files (TestSession *f, gconstpointer unused)
{
  g_autofree char *path = g_strconcat (f->path, ".json", NULL);

  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  tessera_document_save_edits (f->document, path);
  g_assert_nonnull (f->document->notice);
  tessera_document_undo (f->document);
  tessera_document_load_edits (f->document, path);
  test_session_settle (f);
  g_assert_cmpuint (tessera_document_n_edits (f->document), ==, 1);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
  g_assert_true (g_file_set_contents (path, "[{\"kind\": \"bend\"}]", -1, NULL));
  tessera_document_load_edits (f->document, path);
  test_session_settle (f);
  g_assert_nonnull (f->document->error);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
  g_clear_pointer (&f->document->error, g_free);
  g_unlink (path);
}

static void
add_elsewhere (const char *path, uint64_t cap_bytes)
{
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_CAP);
  g_autoptr (TesseraHistory) history = tessera_history_load (path, NULL);

  made.name = g_strdup ("elsewhere");
  made.at = cap_bytes;
  tessera_history_add (history, &made);
  OK (tessera_history_save (history, path, NULL));
}

/* What another program keeps meanwhile is lost neither by an edit here nor by two that
 * come at once, and is here afterwards. */
static void
test_others (TestSession *f, gconstpointer unused)
{
  g_autofree char *here = NULL, *there = NULL;

  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  add_elsewhere (f->path, 64 << 20);
  for (int i = 0; i < 2; i++)
    {
      TesseraEdit made = tessera_edit_of (TESSERA_EDIT_CAP);

      made.at = (uint64_t) (80 + i) << 20;
      tessera_document_add_edit (f->document, &made);
    }
  test_session_settle (f);
  g_assert_cmpstr (f->document->error, ==, NULL);
  g_assert_nonnull (strstr (f->document->notice, "Another program"));
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 4);
  g_assert_cmpint (edit_at (f, 0)->kind, ==, TESSERA_EDIT_DYNAMIC);
  g_assert_cmpstr (edit_at (f, 1)->name, ==, "elsewhere");
  g_assert_cmpuint (edit_at (f, 2)->at, ==, 80 << 20);
  g_assert_cmpuint (edit_at (f, 3)->at, ==, 81 << 20);
  test_session_do (f, tessera_document_undo);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 3);
  here = tessera_history_to_json (f->document->history);
  test_session_reopen (f);
  there = tessera_history_to_json (f->document->history);
  g_assert_cmpstr (here, ==, there);
}

/* An undo that meets an edit of another program is of the own last edit, which can be
 * redone, and leaves the other's. */
static void
test_undo_among_others (TestSession *f, gconstpointer unused)
{
  g_autoptr (TesseraHistory) there = NULL;
  size_t n_edits;

  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  add_elsewhere (f->path, 64 << 20);
  test_session_do (f, tessera_document_undo);
  g_assert_cmpstr (f->document->error, ==, NULL);
  g_assert_nonnull (strstr (f->document->notice, "Another program"));
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
  g_assert_cmpstr (edit_at (f, 0)->name, ==, "elsewhere");
  there = tessera_history_load (f->path, NULL);
  g_assert_cmpstr (tessera_history_get (there, &n_edits)[0].name, ==, "elsewhere");
  g_assert_cmpuint (n_edits, ==, 2);
  g_assert_cmpuint (tessera_history_get_n_standing (there), ==, 1);
  test_session_do (f, tessera_document_redo);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 2);
  g_assert_cmpint (edit_at (f, 1)->kind, ==, TESSERA_EDIT_DYNAMIC);
}

/* What another program does to the file is noticed without an edit here. */
static void
test_noticed (TestSession *f, gconstpointer unused)
{
  g_autofree char *bytes = NULL;
  gsize n_bytes;

  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  add_elsewhere (f->path, 64 << 20);
  WAIT (tessera_document_n_standing (f->document) == 2, SLOW_MS);
  test_session_settle (f);
  g_assert_cmpstr (f->document->error, ==, NULL);
  g_assert_cmpstr (edit_at (f, 1)->name, ==, "elsewhere");
  g_assert_true (g_file_get_contents (f->path, &bytes, &n_bytes, NULL));
  g_assert_true (g_file_set_contents (f->path, bytes, (gssize) n_bytes, NULL));
  WAIT (f->document->error != NULL, SLOW_MS);
  g_assert_nonnull (strstr (f->document->error, "open it again"));
  g_clear_pointer (&f->document->error, g_free);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 2);
}

/* Edits that cannot be read stay where they are, and the trace is open all the same. */
static void
test_unreadable (TestSession *f, gconstpointer unused)
{
  g_autofree char *text = NULL;

  tessera_document_close (f->document);
  g_assert_true (g_file_set_contents (f->kept, "{", -1, NULL));
  tessera_document_open (f->document, f->path);
  test_session_settle (f);
  g_assert_nonnull (f->document->data);
  g_assert_nonnull (f->document->error);
  g_clear_pointer (&f->document->error, g_free);
  tessera_document_select (f->document, 1);
  edit (f, tessera_edit_of (TESSERA_EDIT_DYNAMIC));
  g_assert_true (g_file_get_contents (f->kept, &text, NULL, NULL));
  g_assert_cmpstr (text, ==, "{");
}

/* Blocks by hand keep names, so that edits that lie beside another trace of the same name
 * are left aside instead of meaning other blocks. */
static void
test_another_trace (TestSession *f, gconstpointer unused)
{
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);
  g_autofree char *text = NULL;
  g_autoptr (GRegex) size = g_regex_new ("\\b2097152\\b", 0, 0, NULL);
  g_autofree char *other = NULL;

  tessera_document_select (f->document, 1);
  tessera_document_edit_selection (f->document, &made, FALSE);
  test_session_settle (f);
  g_assert_nonnull (edit_at (f, 0)->what.names);
  g_assert_true (g_file_get_contents (f->kept, &text, NULL, NULL));
  other = g_regex_replace (size, text, -1, 0, "13", 0, NULL);
  g_assert_cmpstr (other, !=, text);
  test_session_reopen (f);
  g_assert_null (f->document->error);
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
  tessera_document_close (f->document);
  g_assert_true (g_file_set_contents (f->kept, other, -1, NULL));
  tessera_document_open (f->document, f->path);
  test_session_settle (f);
  g_assert_nonnull (strstr (f->document->error, "left aside"));
  g_assert_nonnull (strstr (f->document->error, "does not have"));
  g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 0);
  g_clear_pointer (&f->document->error, g_free);
}

static void
test_rule (TestSession *f, gconstpointer unused)
{
  g_assert_nonnull (tessera_document_why_no_edit (f->document, TESSERA_EDIT_DYNAMIC, 0));
  g_assert_null (tessera_document_why_no_edit (f->document, TESSERA_EDIT_CAP, 0));
  tessera_document_select (f->document, 1);
  g_assert_null (tessera_document_why_no_edit (f->document, TESSERA_EDIT_DYNAMIC, 0));
  g_assert_nonnull (tessera_document_why_no_edit (f->document, TESSERA_EDIT_MERGE, 0));
  test_session_do (f, tessera_document_seek_rule);
  g_assert_nonnull (f->document->rule);
  g_assert_true (f->document->rule->is_rule);
  g_assert_null (f->document->rule->selector.blocks);
  {
    TesseraEdit made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);

    tessera_document_edit_selection (f->document, &made, FALSE);
  }
  test_session_settle (f);
  g_assert_cmpuint (edit_at (f, 0)->what.n_blocks, ==, 1);
  g_assert_cmpuint (edit_at (f, 0)->what.blocks[0], ==, 1);
}

/* A [0, 5) 1 MiB, B [1, 3) 2 MiB, C [3, end) 2 MiB: planned in 3 MiB, B and C in the same
 * place. B alone can lie above or below A, or on top of all. */
static void
test_propose (TestSession *f, gconstpointer unused)
{
  const TesseraProposal *proposal = &f->document->proposal;
  const TesseraLandings *landings;

  tessera_document_select (f->document, 0);
  test_session_do (f, tessera_document_propose);
  landings = proposal->landings;
  g_assert_nonnull (landings);
  g_assert_cmpuint (landings->n_blocks, ==, 1);
  g_assert_cmpuint (proposal->offset_bytes, ==, landings->base_bytes);
  g_assert_null (proposal->pushed);
  /* Where it lies is free, as is the other side of B and C; between it pushes both. */
  tessera_document_propose_next (f->document, 1, FALSE);
  if (proposal->offset_bytes == landings->base_bytes)
    tessera_document_propose_next (f->document, -1, FALSE);
  g_assert_cmpuint (proposal->offset_bytes, !=, landings->base_bytes);
  g_assert_null (proposal->pushed);
  tessera_document_propose_at (f->document, 3 << 20, 0);
  tessera_document_drop_proposal (f->document);
  g_assert_null (tessera_document_describe_proposal (f->document));
  tessera_document_accept_proposal (f->document);
  g_assert_cmpuint (tessera_document_n_edits (f->document), ==, 0);
  tessera_document_propose_next (f->document, 1, TRUE);
  test_session_settle (f);
  {
    uint64_t offset = proposal->offset_bytes;
    g_autofree char *words = tessera_document_describe_proposal (f->document);

    g_assert_nonnull (words);
    test_session_do (f, tessera_document_accept_proposal);
    g_assert_cmpuint (tessera_document_n_standing (f->document), ==, 1);
    g_assert_cmpint (edit_at (f, 0)->kind, ==, TESSERA_EDIT_PIN);
    g_assert_cmpuint (edit_at (f, 0)->at, ==, offset);
    g_assert_null (edit_at (f, 0)->shape);
  }
}

/* Several keep their distances. */
static void
test_propose_several (TestSession *f, gconstpointer unused)
{
  const TesseraLandings *landings;
  uint64_t top = 0;

  tessera_document_select_blocks (f->document, (const uint32_t[]){ 0, 1 }, 2,
                                  TESSERA_SELECT_ONLY, 0);
  test_session_do (f, tessera_document_propose);
  landings = f->document->proposal.landings;
  for (size_t i = 0; i < landings->n_blocks; i++)
    top = MAX (top, landings->distance_bytes[i] +
                        f->document->planned->layout->block_bytes[landings->blocks[i]]);
  g_assert_cmpuint (top, ==, 3 << 20);
  test_session_do (f, tessera_document_accept_proposal);
  g_assert_cmpuint (edit_at (f, 0)->what.n_blocks, ==, 2);
  g_assert_nonnull (edit_at (f, 0)->shape);
  g_assert_cmpuint (edit_at (f, 0)->shape[0] + edit_at (f, 0)->shape[1], >=, 1 << 20);
}

/* A typed offset is kept as it is, and the others' distances with it. */
static void
test_pin_several_at (TestSession *f, gconstpointer unused)
{
  const TesseraLayout *layout;
  uint64_t apart[2];

  layout = f->document->planned->layout;
  apart[0] = layout->addr[1] - layout->addr[0];
  tessera_document_select_blocks (f->document, (const uint32_t[]){ 0, 1 }, 2,
                                  TESSERA_SELECT_ONLY, 0);
  tessera_document_pin_at (f->document, 16 << 20, TRUE);
  test_session_settle (f);
  g_assert_cmpstr (f->document->error, ==, NULL);
  g_assert_cmpuint (edit_at (f, 0)->at, ==, 16 << 20);
  layout = f->document->planned->layout;
  g_assert_cmpuint (MIN (layout->addr[0], layout->addr[1]), ==,
                    layout->pool_addr + (16 << 20));
  apart[1] = layout->addr[1] - layout->addr[0];
  g_assert_cmpuint (apart[1], ==, apart[0]);
}

/* Every stop that says so is free, and none other, as a search by the byte says. */
static void
test_stops_are_honest (TestSession *f, gconstpointer unused)
{
  const TesseraBlocks *blocks = f->document->data->blocks;
  const TesseraLayout *layout = f->document->planned->layout;

  for (uint32_t moved = 0; moved < blocks->n_blocks; moved++)
    {
      TesseraLandings *landings;

      WORKS (error, tessera_landings_new (f->document->planned, &moved, 1, NULL, &error,
                                          &landings));
      g_assert_cmpuint (landings->stops->len, >, 0);
      for (guint i = 0; i < landings->stops->len; i++)
        {
          const TesseraStop *stop = &g_array_index (landings->stops, TesseraStop, i);
          uint64_t low = landings->pool_addr + stop->offset_bytes;
          uint64_t high = low + layout->block_bytes[moved];
          TesseraSelection *pushed =
              tessera_landings_pushed (landings, stop->offset_bytes);
          guint n = 0;

          for (uint32_t k = 0; k < blocks->n_blocks; k++)
            n += k != moved && blocks->blocks[k].born_index < layout->died_index[moved] &&
                 blocks->blocks[moved].born_index < layout->died_index[k] &&
                 layout->addr[k] < high && low < layout->addr[k] + layout->block_bytes[k];
          g_assert_cmpuint (pushed != NULL ? pushed->n_blocks : 0, ==, n);
          tessera_selection_unref (pushed);
          g_assert_cmpint (stop->is_free, ==, n == 0);
        }
      tessera_landings_free (landings);
    }
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
#define ADD(name, function)                                                              \
  g_test_add ("/edits/" name, TestSession, NULL, test_session_set_up, function,          \
              test_session_tear_down)
  ADD ("every kind", test_every_kind);
  ADD ("undo is kept", test_undo_is_kept);
  ADD ("plan follows", test_plan_follows);
  ADD ("left", test_left);
  ADD ("cancel", test_cancel);
  ADD ("conflict", test_conflict);
  ADD ("files", test_files);
  ADD ("others", test_others);
  ADD ("undo-among-others", test_undo_among_others);
  ADD ("noticed", test_noticed);
  ADD ("unreadable", test_unreadable);
  ADD ("another-trace", test_another_trace);
  ADD ("rule", test_rule);
  ADD ("propose", test_propose);
  ADD ("propose several", test_propose_several);
  ADD ("pin several", test_pin_several_at);
  ADD ("stops are honest", test_stops_are_honest);
  return g_test_run ();
}
