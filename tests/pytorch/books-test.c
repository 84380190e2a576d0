/*
 * Tests of the books, by hand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/pytorch/books.h"

#include <glib.h>

#define MIB ((uint64_t) 1 << 20)
#define BASE ((uint64_t) 1 << 40) /* of the pool */

/* Streams by hand: a mark passes when it is told to. */
typedef struct
{
  GPtrArray *marks; /* all that were made: gboolean, has it passed */
  guint n_forgotten;
} Hand;

static void *
make_mark (void *user, uint64_t stream)
{
  Hand *hand = user;
  gboolean *mark = g_new0 (gboolean, 1);

  g_ptr_array_add (hand->marks, mark);
  return mark;
}

static bool
has_passed (void *user, void *mark)
{
  return *(gboolean *) mark;
}

static void
forget (void *user, void *mark)
{
  Hand *hand = user;

  hand->n_forgotten++;
}

static Books *
begin (Hand *hand)
{
  const BooksClock clock = { make_mark, has_passed, forget, hand };

  *hand = (Hand){ .marks = g_ptr_array_new_with_free_func (g_free) };
  return books_new (&clock);
}

static void
end (Hand *hand, Books *books)
{
  books_close (books);
  g_assert_cmpuint (hand->n_forgotten, ==, hand->marks->len);
  g_ptr_array_unref (hand->marks);
}

static void
hand_out (Books *books, uint64_t addr, uint64_t size_bytes, uint64_t stream)
{
  books_request (books, size_bytes, stream);
  books_hand_out (books, BASE + addr, size_bytes, stream);
}

static uint64_t
count_all (const Books *books)
{
  const BooksFindings *f = books_findings (books);

  return f->n_overlaps + f->n_other_stream + f->n_pending + f->n_other_kind +
         f->n_misaligned + f->n_unknown_frees;
}

static void
test_live (void)
{
  Hand hand;
  Books *books = begin (&hand);

  hand_out (books, 0, 1000, 0);
  hand_out (books, 1024, 1000, 0);
  g_assert_cmpuint (books_findings (books)->peak_live_bytes, ==, 2000);
  g_assert_cmpuint (count_all (books), ==, 0);
  hand_out (books, 512, 100, 0);
  g_assert_cmpuint (books_findings (books)->n_overlaps, ==, 1);
  hand_out (books, 4100, 100, 0);
  g_assert_cmpuint (books_findings (books)->n_misaligned, ==, 1);
  books_give_back (books, BASE + 8192);
  g_assert_cmpuint (books_findings (books)->n_unknown_frees, ==, 1);
  books_give_back (books, BASE + 1024);
  g_assert_cmpuint (books_findings (books)->live_bytes, ==, 1200);
  g_assert_cmpuint (count_all (books), ==, 3);
  end (&hand, books);
}

static void
test_other_stream (void)
{
  Hand hand;
  Books *books = begin (&hand);

  hand_out (books, 0, 8192, 7);
  books_give_back (books, BASE);
  hand_out (books, 0, 8192, 7);
  books_give_back (books, BASE);
  g_assert_cmpuint (books_findings (books)->n_reused, ==, 1);
  g_assert_cmpuint (count_all (books), ==, 0);
  /* Beside it, then the last bytes of it. */
  hand_out (books, 8192, 512, 3);
  g_assert_cmpuint (count_all (books), ==, 0);
  hand_out (books, 7680, 512, 3);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 1);
  books_give_back (books, BASE + 7680);
  /* Now those bytes are the other stream's, the rest is not. */
  hand_out (books, 0, 7680, 7);
  g_assert_cmpuint (count_all (books), ==, 1);
  hand_out (books, 7680, 512, 7);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 2);
  end (&hand, books);
}

static void
test_pending (void)
{
  Hand hand;
  Books *books = begin (&hand);

  hand_out (books, 0, 8192, 0);
  books_record_stream (books, BASE, 0); /* its own */
  books_give_back (books, BASE);
  g_assert_cmpuint (hand.marks->len, ==, 0);
  hand_out (books, 0, 8192, 0);
  books_record_stream (books, BASE, 1);
  books_record_stream (books, BASE, 1);
  books_give_back (books, BASE);
  g_assert_cmpuint (hand.marks->len, ==, 1);
  hand_out (books, 4096, 512, 0);
  g_assert_cmpuint (books_findings (books)->n_pending, ==, 1);
  *(gboolean *) g_ptr_array_index (hand.marks, 0) = TRUE;
  hand_out (books, 0, 4096, 0);
  g_assert_cmpuint (books_findings (books)->n_pending, ==, 1);
  g_assert_cmpuint (books_findings (books)->n_marked, ==, 2);
  g_assert_cmpuint (count_all (books), ==, 1);
  end (&hand, books);
}

static void *
request_elsewhere (void *books)
{
  hand_out (books, 2 * MIB, 512, 5);
  return NULL;
}

/* Bytes pass to another stream behind an event of everything, recorded when the thread that
 * gave them back had been heard of again, or behind a step; not behind any other. */
static void
test_barriers (void)
{
  enum
  {
    EVENT = 77
  };
  Hand hand;
  Books *books = begin (&hand);
  GThread *other;

  hand_out (books, 0, 8192, 7);
  books_record_stream (books, BASE, 8);
  books_record (books, EVENT, true);
  books_give_back (books, BASE);
  books_wait (books, 3, EVENT); /* too early */
  hand_out (books, 0, 512, 3);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 1);
  g_assert_cmpuint (books_findings (books)->n_pending, ==, 1);
  books_record (books, EVENT, false);
  books_wait (books, 3, EVENT); /* of something else */
  hand_out (books, 512, 512, 3);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 2);
  books_record (books, EVENT, true);
  hand_out (books, 1024, 512, 3); /* nobody waits */
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 3);
  books_wait (books, 3, EVENT);
  hand_out (books, 1536, 512, 3);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 3);
  g_assert_cmpuint (books_findings (books)->n_passed, ==, 1);
  hand_out (books, 2048, 512, 4); /* another one waits */
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 4);

  books_give_back (books, BASE + 1536);
  other = g_thread_new (NULL, request_elsewhere, books);
  g_thread_join (other);
  books_record (books, EVENT, true);
  books_wait (books, 4, EVENT); /* another thread was heard of */
  hand_out (books, 1536, 512, 4);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 5);
  books_give_back (books, BASE + 1536);
  books_mark (books);
  books_record (books, EVENT, true);
  books_wait (books, 3, EVENT);
  hand_out (books, 1536, 512, 3);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 5);
  g_assert_cmpuint (books_findings (books)->n_passed, ==, 2);
  books_give_back (books, BASE + 1536);
  books_unmap (books, BASE + 1536, 512);
  hand_out (books, 1536, 512, 6);
  g_assert_cmpuint (books_findings (books)->n_other_stream, ==, 5);
  end (&hand, books);
}

static void
test_other_kind (void)
{
  Hand hand;
  Books *books = begin (&hand);

  /* One stream: any order is fine. */
  hand_out (books, 0, 4 * MIB, 0);
  books_give_back (books, BASE);
  hand_out (books, 0, 512, 0);
  books_give_back (books, BASE);
  g_assert_cmpuint (count_all (books), ==, 0);
  /* Two: a small block then a large one, and what does not make it fine: a request of
     another kind, stream, or size. */
  hand_out (books, 8 * MIB, 4 * MIB, 1);
  hand_out (books, 16 * MIB, 1024, 0);
  books_request (books, 512, 1);
  hand_out (books, 0, 2 * MIB, 0);
  g_assert_cmpuint (books_findings (books)->n_other_kind, ==, 1);
  books_give_back (books, BASE);
  books_request (books, 3 * MIB, 0);
  hand_out (books, 0, 512, 0);
  g_assert_cmpuint (books_findings (books)->n_other_kind, ==, 2);
  books_give_back (books, BASE);
  /* What does. */
  books_request (books, 400, 0);
  hand_out (books, 0, 512 + MIB, 0);
  g_assert_cmpuint (books_findings (books)->n_crossed, ==, 3);
  g_assert_cmpuint (count_all (books), ==, 2);
  end (&hand, books);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tests/books/live", test_live);
  g_test_add_func ("/tests/books/other-stream", test_other_stream);
  g_test_add_func ("/tests/books/pending", test_pending);
  g_test_add_func ("/tests/books/other-kind", test_other_kind);
  g_test_add_func ("/tests/books/barriers", test_barriers);
  return g_test_run ();
}
