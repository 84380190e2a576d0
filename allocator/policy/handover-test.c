/*
 * Tests of memory that passes between streams: behind which barrier, and when not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>

#include "tests/allocator/program.h"
#include "tests/ok.h"

#define MIB ((uint64_t) 1 << 20)

/* A device that notes what streams wait for. Marks are the numbers of calls. */
typedef struct
{
  TesseraVirtual device; /* must be first */
  uintptr_t n_marks;
  guint n_forgotten, n_orders, n_tries;
  uint32_t stream; /* of the last order */
  uintptr_t mark;
  bool refuses_marks, never_ends;
  MadePlan *made;
  TesseraPolicy *policy;
  uint64_t passed; /* the last block that did */
} Noting;

static void *
mark (TesseraDevice *device, uint32_t stream)
{
  Noting *noting = (Noting *) device;

  return noting->refuses_marks ? NULL : (void *) ++noting->n_marks;
}

static void
forget_mark (TesseraDevice *device, void *mark)
{
  ((Noting *) device)->n_forgotten++;
}

static bool
ends (TesseraDevice *device, void *mark, uint64_t within_ns)
{
  Noting *noting = (Noting *) device;

  noting->n_tries++;
  return !noting->never_ends;
}

static bool
order (TesseraDevice *device, uint32_t stream, void *mark)
{
  Noting *noting = (Noting *) device;

  noting->n_orders++;
  noting->stream = stream;
  noting->mark = (uintptr_t) mark;
  return true;
}

static void
pass (void *user, uint64_t addr)
{
  ((Noting *) user)->passed = addr;
}

static void
open_noting (Noting *noting)
{
  const TesseraPolicyOptions options = made_plan_options (noting->made);
  const TesseraObserver observer = { .block_passed = pass, .user = noting };

  tessera_virtual_init (&noting->device, 100 * MIB);
  noting->device.device.mark = mark;
  noting->device.device.forget_mark = forget_mark;
  noting->device.device.ends = ends;
  noting->device.device.order = order;
  WORKS (error, tessera_policy_new (&options, &noting->device.device, &observer, &error,
                                    &noting->policy));
}

/* Three requests a step: the first and the last one in the same place, of two streams. */
static MadePlan *
make_plan (uint64_t middle_bytes)
{
  MadePlan *made = g_new0 (MadePlan, 1);

  made_plan_add_slot (made, 4 * MIB, 0, 0);
  made_plan_add_slot (made, middle_bytes, 0, 4 * MIB);
  made_plan_add_slot (made, 4 * MIB, 1, 0);
  made_plan_finish (made, 4 * MIB + middle_bytes);
  made->plan.crosses_streams = 1;
  return made;
}

static void
set_up (Noting *noting, gconstpointer middle_mib)
{
  noting->made = make_plan (GPOINTER_TO_UINT (middle_mib) * MIB);
  open_noting (noting);
}

static void
tear_down (Noting *noting, gconstpointer unused)
{
  tessera_policy_free (noting->policy);
  g_assert_cmpuint (noting->n_forgotten, ==, noting->n_marks);
  g_free (noting->made);
}

static bool
take (Noting *noting, guint slot, TesseraPolicyGrant *out_grant)
{
  const TesseraSlot *like = &noting->made->slots[slot];

  *out_grant = program_take (noting->policy, like->size_bytes, like->stream);
  return out_grant->is_hit;
}

static void
request_free (Noting *noting, TesseraPolicyGrant grant)
{
  OK (tessera_policy_free_requested (noting->policy, grant.grant.addr));
}

/* A stream waits before it gets what the other one freed, each time; in the first two
 * steps in which one does the host looks whether that ends. From the second step on it waits for the moment of the
 * free, which is before the request in between. */
static void
test_waits (Noting *noting, gconstpointer unused)
{
  TesseraPolicyGrant grants[3];

  for (guint step = 0; step < 5; step++)
    {
      guint n_orders = noting->n_orders;

      g_assert_true (take (noting, 0, &grants[0]));
      /* Of the step before: the place was the other stream's. */
      g_assert_cmpuint (noting->n_orders - n_orders, ==, step > 0);
      program_give_back (noting->policy, grants[0]);
      g_assert_true (take (noting, 1, &grants[1]));
      uintptr_t n_marks = noting->n_marks;
      g_assert_true (take (noting, 2, &grants[2]));
      g_assert_cmpuint (noting->n_orders - n_orders, ==, 1 + (step > 0));
      g_assert_cmpuint (noting->stream, ==, 1);
      g_assert_cmpuint (noting->n_marks - n_marks, ==, step == 0);
      program_give_back (noting->policy, grants[1]);
      program_give_back (noting->policy, grants[2]);
      tessera_policy_step (noting->policy);
    }
  g_assert_cmpuint (noting->n_tries, ==, 3);
  program_check_sums (noting->policy);
}

/* A block whose end waits for side streams passes on at its free, and is not completed
 * any more; its own stream needs a barrier too. */
static void
test_side_streams (Noting *noting, gconstpointer unused)
{
  TesseraPolicyGrant first, again;

  g_assert_true (take (noting, 0, &first));
  request_free (noting, first);
  tessera_policy_step (noting->policy);
  g_assert_true (take (noting, 0, &again));
  g_assert_cmpuint (again.grant.addr, ==, first.grant.addr);
  g_assert_cmpuint (noting->passed, ==, first.grant.addr);
  g_assert_cmpuint (noting->n_orders, ==, 1);
  g_assert_cmpuint (noting->stream, ==, 0);
  GIVES (TESSERA_INVALID,
         tessera_policy_free_completed (noting->policy, first.grant.addr));
  program_check_sums (noting->policy);
}

/* The same where part of the place has no memory yet. */
static void
test_new_pages (void)
{
  MadePlan *made = g_new0 (MadePlan, 1);
  TesseraPolicyGrant grants[3];
  Noting noting = { .made = made };

  made_plan_add_slot (made, 4 * MIB, 0, 0);
  made_plan_add_slot (made, 2 * MIB, 0, 60 * MIB);
  made_plan_add_slot (made, 60 * MIB, 1, 0);
  made_plan_finish (made, 62 * MIB);
  made->plan.crosses_streams = 1;
  open_noting (&noting);
  g_assert_true (take (&noting, 0, &grants[0]));
  request_free (&noting, grants[0]);
  g_assert_true (take (&noting, 1, &grants[1]));
  g_assert_true (take (&noting, 2, &grants[2]));
  g_assert_cmpuint (noting.passed, ==, grants[0].grant.addr);
  g_assert_cmpuint (noting.n_orders, ==, 1);
  program_check_sums (noting.policy);
  tear_down (&noting, NULL);
}

typedef struct
{
  Noting *noting;
  TesseraPolicyGrant grant;
} Freeing;

static void *
free_in_thread (void *data)
{
  Freeing *freeing = data;

  program_give_back (freeing->noting->policy, freeing->grant);
  return NULL;
}

/* A thread may free a block and only then launch what uses it: until the thread is back,
 * or a step is over, no barrier covers that. */
static void
test_other_thread (Noting *noting, gconstpointer unused)
{
  TesseraPolicyGrant grants[3];
  pthread_t thread;

  g_assert_true (take (noting, 0, &grants[0]));
  Freeing freeing = (Freeing){ noting, grants[0] };
  g_assert_cmpint (pthread_create (&thread, NULL, free_in_thread, &freeing), ==, 0);
  pthread_join (thread, NULL);
  g_assert_true (take (noting, 1, &grants[1]));
  g_assert_false (take (noting, 2, &grants[2]));
  g_assert_cmpuint (noting->n_orders, ==, 0);
  program_give_back (noting->policy, grants[1]);
  program_give_back (noting->policy, grants[2]);
  tessera_policy_step (noting->policy);
  g_assert_true (take (noting, 0, &grants[0]));
  program_give_back (noting->policy, grants[0]);
  g_assert_true (take (noting, 1, &grants[1]));
  g_assert_true (take (noting, 2, &grants[2]));
  g_assert_cmpuint (noting->n_orders, ==, 1);
}

/* What does not end while the host looks is not waited for. Three of them, and the plan is
 * of no use. */
static void
test_failed_trial (Noting *noting, gconstpointer unused)
{
  TesseraPolicyGrant grants[3];
  TesseraPolicyStats stats;

  noting->never_ends = true;
  for (guint step = 0; step < 4; step++)
    {
      for (guint i = 0; i < 3; i++)
        {
          g_assert_cmpint (take (noting, i, &grants[i]), ==, i != 2 && step < 3);
          program_give_back (noting->policy, grants[i]);
        }
      stats = program_look (noting->policy);
      g_assert_cmpint (stats.decline.is_declined, ==, step >= 2);
      g_assert_cmpint (stats.decline.lacks_barriers, ==, step >= 2);
      tessera_policy_step (noting->policy);
    }
  g_assert_cmpuint (noting->n_tries, ==, 3);
  g_assert_cmpuint (noting->n_orders, ==, 0);
}

/* The same where nothing can ever be marked, as once a second device is used; at one
 * moment that is asked once. */
static void
test_never_marked (Noting *noting, gconstpointer unused)
{
  TesseraPolicyGrant grants[3];
  TesseraPolicyStats stats;
  guint step = 0;

  noting->refuses_marks = true;
  do
    {
      for (guint i = 0; i < 3; i++)
        {
          take (noting, i, &grants[i]);
          program_give_back (noting->policy, grants[i]);
        }
      tessera_policy_step (noting->policy);
      stats = program_look (noting->policy);
    }
  while (!stats.decline.is_declined && ++step < 100);
  g_assert_true (stats.decline.lacks_barriers);
  g_assert_cmpuint (step, >, 20);
}

/* Where no mark can be had, as while a graph is captured, nothing passes; later it does. */
static void
test_no_marks (Noting *noting, gconstpointer unused)
{
  TesseraPolicyGrant grants[3];

  for (guint step = 0; step < 3; step++)
    {
      noting->refuses_marks = step == 0;
      for (guint i = 0; i < 3; i++)
        {
          if (step == 1 && i == 2)
            tessera_policy_set_routed (noting->policy, true);
          g_assert_cmpint (take (noting, i, &grants[i]), ==, i != 2 || step == 2);
          tessera_policy_set_routed (noting->policy, false);
          program_give_back (noting->policy, grants[i]);
        }
      tessera_policy_step (noting->policy);
    }
}

/* A device without barriers refuses the plan, and says why. */
static void
test_no_barriers (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  const TesseraPolicyOptions options = made_plan_options (made);
  const TesseraObserver observer = { 0 };
  TesseraPolicy *policy;
  TesseraError error = { 0 };

  TesseraVirtual device = program_device (0);
  device.device.order = NULL;
  GIVES (TESSERA_REFUSED,
         tessera_policy_new (&options, &device.device, &observer, &error, &policy));
  g_assert_nonnull (strstr (error.text, "--streams-apart"));
}

static void
add (const char *path, guint middle_mib, void (*test) (Noting *, gconstpointer))
{
  g_test_add (path, Noting, GUINT_TO_POINTER (middle_mib), set_up, test, tear_down);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  add ("/handover/waits", 2, test_waits);
  add ("/handover/side-streams", 2, test_side_streams);
  g_test_add_func ("/handover/new-pages", test_new_pages);
  add ("/handover/other-thread", 2, test_other_thread);
  add ("/handover/failed-trial", 2, test_failed_trial);
  add ("/handover/never-marked", 60, test_never_marked);
  add ("/handover/no-marks", 2, test_no_marks);
  g_test_add_func ("/handover/no-barriers", test_no_barriers);
  return g_test_run ();
}
