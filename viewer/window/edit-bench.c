/*
 * What the main thread does after edits and selections in the window, with the groups and
 * the table of blocks on screen: its longest turn, which is how long nothing can be
 * clicked. No turn should take more than 16 ms of the processor, or, where drawing the
 * window alone takes that, much more than a frame.
 *
 * Of traces that are made up, 100,000 and a million blocks; or of the file that is named.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"
#include "viewer/test-bench.h"

#include <string.h>

static void
edit (TestBench *bench, const char *what, TesseraEdit edit)
{
  test_bench_begin (bench);
  tessera_document_edit_selection (bench->document, &edit, TRUE);
  test_bench_end_edit (bench, what);
}

static void
select_some (TestBench *bench, uint32_t every)
{
  uint32_t n = (uint32_t) bench->document->data->blocks->n_blocks;
  g_autofree uint32_t *blocks = g_new (uint32_t, n);
  size_t n_some = 0;

  for (uint32_t i = 0; i < n; i += every)
    blocks[n_some++] = i;
  tessera_document_select_blocks (bench->document, blocks, n_some, TESSERA_SELECT_ONLY,
                                  0);
}

static void
measure_selections (TestBench *bench)
{
  test_bench_begin (bench);
  test_bench_act (bench, "win.next-block");
  test_bench_end (bench, "next block", 0);
  test_bench_begin (bench);
  tessera_document_select_group_of (bench->document, 0);
  test_bench_end (bench, "select a group", 0);
  test_bench_begin (bench);
  test_bench_act (bench, "win.select-all");
  test_bench_end (bench, "select all", 0);
  test_bench_begin (bench);
  test_bench_act (bench, "win.select-alive");
  test_bench_end (bench, "select all alive", 0);
  test_bench_begin (bench);
  select_some (bench, 2);
  test_bench_end (bench, "select every other one", 0);
  test_bench_begin (bench);
  tessera_document_set_query (bench->document, "size>=1MiB");
  test_bench_end (bench, "query", 0);
  test_bench_begin (bench);
  tessera_document_set_query (bench->document, "");
  test_bench_end (bench, "no query", 0);
  test_bench_begin (bench);
  test_bench_act (bench, "win.clear");
  test_bench_end (bench, "nothing selected", 0);
}

static void
measure_edits (TestBench *bench)
{
  TesseraEdit made = tessera_edit_of (TESSERA_EDIT_GROUP);

  select_some (bench, 10);
  test_bench_settle (bench);
  made.group = strdup ("every tenth");
  edit (bench, "group every tenth block", made);
  test_bench_begin (bench);
  tessera_document_undo (bench->document);
  test_bench_end_edit (bench, "undo");
  test_bench_begin (bench);
  tessera_document_redo (bench->document);
  test_bench_end_edit (bench, "redo");
  tessera_document_select (bench->document, 0);
  test_bench_settle (bench);
  test_bench_begin (bench);
  tessera_document_propose (bench->document);
  test_bench_end (bench, "carry a block", 0);
  test_bench_begin (bench);
  tessera_document_propose_next (bench->document, 1, TRUE);
  tessera_document_accept_proposal (bench->document);
  test_bench_end_edit (bench, "pin it");
  made = tessera_edit_of (TESSERA_EDIT_PIN);
  made.at = bench->document->planned->plan->height_bytes;
  edit (bench, "pin it elsewhere (conflict)", made);
  test_bench_begin (bench);
  tessera_document_undo (bench->document);
  test_bench_end_edit (bench, "undo the conflict");
  made = tessera_edit_of (TESSERA_EDIT_DYNAMIC);
  edit (bench, "leave it without a slot (conflict)", made);
  test_bench_begin (bench);
  tessera_document_go_to_edits (bench->document, 0);
  test_bench_end_edit (bench, "undo all");
  made = tessera_edit_of (TESSERA_EDIT_CAP);
  made.at = bench->document->planned->plan->height_bytes / 512 / 10 * 9 * 512;
  edit (bench, "cap of 90 %", made);
}

/* To the share of what can be scrolled, as who pulls the bar does. */
static void
scroll_tree (TestBench *bench, double share)
{
  GtkWidget *tree = test_find (GTK_WIDGET (bench->window), "groups");
  GtkAdjustment *down = gtk_scrollable_get_vadjustment (GTK_SCROLLABLE (tree));

  gtk_adjustment_set_value (down, share * (gtk_adjustment_get_upper (down) -
                                           gtk_adjustment_get_page_size (down)));
}

static void
measure_scrolling (TestBench *bench)
{
  test_bench_act (bench, "win.select-all");
  test_bench_begin (bench);
  scroll_tree (bench, 0.01);
  test_bench_end (bench, "scroll while all is selected", 0);
  test_bench_act (bench, "win.clear");
  test_bench_settle (bench);
  test_bench_begin (bench);
  scroll_tree (bench, 0.5);
  test_bench_end (bench, "scroll far", 0);
  test_bench_begin (bench);
  scroll_tree (bench, 1);
  test_bench_end (bench, "scroll to the end", 0);
  test_bench_begin (bench);
  tessera_document_set_query (bench->document, "size>=1MiB");
  test_bench_end (bench, "query: rows go from the end", 0);
  test_bench_begin (bench);
  tessera_document_set_query (bench->document, "");
  test_bench_end (bench, "no query", 0);
}

static void
measure_panels (TestBench *bench)
{
  test_bench_begin (bench);
  test_bench_act (bench, "win.table");
  test_bench_end (bench, "open the table", 0);
  test_bench_begin (bench);
  tessera_document_set_left_plan (bench->document, bench->document->planned);
  test_bench_end (bench, "compare", 0);
  test_bench_begin (bench);
  tessera_document_set_left_kind (bench->document, bench->document->left_kind);
  test_bench_end (bench, "compare no more", 0);
  test_bench_begin (bench);
  tessera_document_set_colour_key (bench->document, TESSERA_COLOUR_GROUP);
  test_bench_end (bench, "colours by group", 0);
}

static void
measure (const char *path)
{
  TestBench bench = { .window = NULL };

  test_bench_open (&bench, path);
  test_bench_begin (&bench);
  gtk_widget_queue_draw (GTK_WIDGET (bench.window));
  test_bench_end (&bench, "draw the window", 0);
  test_bench_begin (&bench);
  tessera_document_set_query (bench.document, "");
  gtk_widget_activate_action (GTK_WIDGET (bench.window), "win.side", "s", "groups");
  test_bench_end (&bench, "open the groups", 0);
  measure_selections (&bench);
  measure_scrolling (&bench);
  measure_panels (&bench);
  measure_edits (&bench);
  test_bench_close (&bench);
}

int
main (int argc, char **argv)
{
  return test_bench_main (argc, argv, measure);
}
