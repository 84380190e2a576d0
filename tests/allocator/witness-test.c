/*
 * Tests of the witness, by hand: of barriers and record_stream. What it says of streams, pools
 * and kinds the map of occupancy says as well (allocator/follow/occupancy-test.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/allocator/witness.h"

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

static Witness *
begin (Hand *hand)
{
  const WitnessClock clock = { make_mark, has_passed, forget, hand };

  *hand = (Hand){ .marks = g_ptr_array_new_with_free_func (g_free) };
  return witness_new (&clock);
}

static void
end (Hand *hand, Witness *witness)
{
  witness_close (witness);
  g_assert_cmpuint (hand->n_forgotten, ==, hand->marks->len);
  g_ptr_array_unref (hand->marks);
}

static void
hand_out (Witness *witness, uint64_t addr, uint64_t size_bytes, uint64_t stream)
{
  const WitnessRequest request = { size_bytes, stream, 0 };

  witness_request (witness, request);
  witness_hand_out (witness, request, BASE + addr, size_bytes);
}

static uint64_t
count_all (const Witness *witness)
{
  const WitnessFindings *f = witness_findings (witness);

  return f->n_overlaps + f->n_other_stream + f->n_pending + f->n_other_kind +
         f->n_misaligned + f->n_unknown_frees;
}

static void
test_live (void)
{
  Hand hand;
  Witness *witness = begin (&hand);

  hand_out (witness, 0, 1000, 0);
  hand_out (witness, 1024, 1000, 0);
  g_assert_cmpuint (witness_findings (witness)->peak_live_bytes, ==, 2000);
  g_assert_cmpuint (count_all (witness), ==, 0);
  hand_out (witness, 512, 100, 0);
  g_assert_cmpuint (witness_findings (witness)->n_overlaps, ==, 1);
  hand_out (witness, 4100, 100, 0);
  g_assert_cmpuint (witness_findings (witness)->n_misaligned, ==, 1);
  witness_give_back (witness, BASE + 8192);
  g_assert_cmpuint (witness_findings (witness)->n_unknown_frees, ==, 1);
  witness_give_back (witness, BASE + 1024);
  g_assert_cmpuint (witness_findings (witness)->live_bytes, ==, 1200);
  g_assert_cmpuint (count_all (witness), ==, 3);
  end (&hand, witness);
}

static void
test_pending (void)
{
  Hand hand;
  Witness *witness = begin (&hand);

  hand_out (witness, 0, 8192, 0);
  witness_record_stream (witness, BASE, 0); /* its own */
  witness_give_back (witness, BASE);
  g_assert_cmpuint (hand.marks->len, ==, 0);
  hand_out (witness, 0, 8192, 0);
  witness_record_stream (witness, BASE, 1);
  witness_record_stream (witness, BASE, 1);
  witness_give_back (witness, BASE);
  g_assert_cmpuint (hand.marks->len, ==, 1);
  hand_out (witness, 4096, 512, 0);
  g_assert_cmpuint (witness_findings (witness)->n_pending, ==, 1);
  *(gboolean *) g_ptr_array_index (hand.marks, 0) = TRUE;
  hand_out (witness, 0, 4096, 0);
  g_assert_cmpuint (witness_findings (witness)->n_pending, ==, 1);
  g_assert_cmpuint (witness_findings (witness)->n_marked, ==, 2);
  g_assert_cmpuint (count_all (witness), ==, 1);
  end (&hand, witness);
}

static void *
request_elsewhere (void *witness)
{
  hand_out (witness, 2 * MIB, 512, 5);
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
  Witness *witness = begin (&hand);

  hand_out (witness, 0, 8192, 7);
  witness_record_stream (witness, BASE, 8);
  witness_record (witness, EVENT, true);
  witness_give_back (witness, BASE);
  witness_wait (witness, 3, EVENT); /* too early */
  hand_out (witness, 0, 512, 3);
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 1);
  g_assert_cmpuint (witness_findings (witness)->n_pending, ==, 1);
  witness_record (witness, EVENT, false);
  witness_wait (witness, 3, EVENT); /* of something else */
  hand_out (witness, 512, 512, 3);
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 2);
  witness_record (witness, EVENT, true);
  hand_out (witness, 1024, 512, 3); /* nobody waits */
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 3);
  witness_wait (witness, 3, EVENT);
  hand_out (witness, 1536, 512, 3);
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 3);
  g_assert_cmpuint (witness_findings (witness)->n_passed, ==, 1);
  hand_out (witness, 2048, 512, 4); /* another one waits */
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 4);

  witness_give_back (witness, BASE + 1536);
  GThread *other = g_thread_new (NULL, request_elsewhere, witness);
  g_thread_join (other);
  witness_record (witness, EVENT, true);
  witness_wait (witness, 4, EVENT); /* another thread was heard of */
  hand_out (witness, 1536, 512, 4);
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 5);
  witness_give_back (witness, BASE + 1536);
  witness_mark (witness);
  witness_record (witness, EVENT, true);
  witness_wait (witness, 3, EVENT);
  hand_out (witness, 1536, 512, 3);
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 5);
  g_assert_cmpuint (witness_findings (witness)->n_passed, ==, 2);
  witness_give_back (witness, BASE + 1536);
  witness_unmap (witness, BASE + 1536, 512);
  hand_out (witness, 1536, 512, 6);
  g_assert_cmpuint (witness_findings (witness)->n_other_stream, ==, 5);
  end (&hand, witness);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/tests/witness/live", test_live);
  g_test_add_func ("/tests/witness/pending", test_pending);
  g_test_add_func ("/tests/witness/barriers", test_barriers);
  return g_test_run ();
}
