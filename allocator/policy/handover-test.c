/*
 * Tests of memory that passes between streams: behind which barrier, and when not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy.h"

#include <glib.h>
#include <pthread.h>
#include <string.h>

#include "allocator/virtual.h"
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
open_noting (Noting *noting, const MadePlan *made)
{
  const TesseraPolicyOptions options = made_plan_options (made);
  const TesseraObserver observer = { .block_passed = pass, .user = noting };
  TesseraError error = { 0 };

  *noting = (Noting){ 0 };
  tessera_virtual_init (&noting->device, 100 * MIB);
  noting->device.device.mark = mark;
  noting->device.device.forget_mark = forget_mark;
  noting->device.device.ends = ends;
  noting->device.device.order = order;
  works (tessera_policy_new (&options, &noting->device.device, &observer, &error,
                             &noting->policy),
         &error);
}

static bool
take (Noting *noting, const MadePlan *made, guint slot, TesseraPolicyGrant *out_grant)
{
  *out_grant = program_take (noting->policy, made->slots[slot].size_bytes,
                             made->slots[slot].stream);
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
test_waits (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  TesseraPolicyGrant grants[3];
  Noting noting;

  open_noting (&noting, made);
  for (guint step = 0; step < 5; step++)
    {
      guint n_orders = noting.n_orders;

      g_assert_true (take (&noting, made, 0, &grants[0]));
      /* Of the step before: the place was the other stream's. */
      g_assert_cmpuint (noting.n_orders - n_orders, ==, step > 0);
      program_give_back (noting.policy, grants[0]);
      g_assert_true (take (&noting, made, 1, &grants[1]));
      uintptr_t n_marks = noting.n_marks;
      g_assert_true (take (&noting, made, 2, &grants[2]));
      g_assert_cmpuint (noting.n_orders - n_orders, ==, 1 + (step > 0));
      g_assert_cmpuint (noting.stream, ==, 1);
      g_assert_cmpuint (noting.n_marks - n_marks, ==, step == 0);
      program_give_back (noting.policy, grants[1]);
      program_give_back (noting.policy, grants[2]);
      tessera_policy_step (noting.policy);
    }
  g_assert_cmpuint (noting.n_tries, ==, 3);
  program_check_sums (noting.policy);
  tessera_policy_free (noting.policy);
  g_assert_cmpuint (noting.n_forgotten, ==, noting.n_marks);
}

/* A block whose end waits for side streams passes on at its free, and is not completed
 * any more; its own stream needs a barrier too. */
static void
test_side_streams (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  TesseraPolicyGrant first, again;
  Noting noting;

  open_noting (&noting, made);
  g_assert_true (take (&noting, made, 0, &first));
  request_free (&noting, first);
  tessera_policy_step (noting.policy);
  g_assert_true (take (&noting, made, 0, &again));
  g_assert_cmpuint (again.grant.addr, ==, first.grant.addr);
  g_assert_cmpuint (noting.passed, ==, first.grant.addr);
  g_assert_cmpuint (noting.n_orders, ==, 1);
  g_assert_cmpuint (noting.stream, ==, 0);
  GIVES (TESSERA_INVALID,
         tessera_policy_free_completed (noting.policy, first.grant.addr));
  program_check_sums (noting.policy);
  tessera_policy_free (noting.policy);
}

/* The same where part of the place has no memory yet. */
static void
test_new_pages (void)
{
  g_autofree MadePlan *made = g_new0 (MadePlan, 1);
  TesseraPolicyGrant grants[3];
  Noting noting;

  made_plan_add_slot (made, 4 * MIB, 0, 0);
  made_plan_add_slot (made, 2 * MIB, 0, 60 * MIB);
  made_plan_add_slot (made, 60 * MIB, 1, 0);
  made_plan_finish (made, 62 * MIB);
  made->plan.crosses_streams = 1;
  open_noting (&noting, made);
  g_assert_true (take (&noting, made, 0, &grants[0]));
  request_free (&noting, grants[0]);
  g_assert_true (take (&noting, made, 1, &grants[1]));
  g_assert_true (take (&noting, made, 2, &grants[2]));
  g_assert_cmpuint (noting.passed, ==, grants[0].grant.addr);
  g_assert_cmpuint (noting.n_orders, ==, 1);
  program_check_sums (noting.policy);
  tessera_policy_free (noting.policy);
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
test_other_thread (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  TesseraPolicyGrant grants[3];
  pthread_t thread;
  Noting noting;

  open_noting (&noting, made);
  g_assert_true (take (&noting, made, 0, &grants[0]));
  Freeing freeing = (Freeing){ &noting, grants[0] };
  g_assert_cmpint (pthread_create (&thread, NULL, free_in_thread, &freeing), ==, 0);
  pthread_join (thread, NULL);
  g_assert_true (take (&noting, made, 1, &grants[1]));
  g_assert_false (take (&noting, made, 2, &grants[2]));
  g_assert_cmpuint (noting.n_orders, ==, 0);
  program_give_back (noting.policy, grants[1]);
  program_give_back (noting.policy, grants[2]);
  tessera_policy_step (noting.policy);
  g_assert_true (take (&noting, made, 0, &grants[0]));
  program_give_back (noting.policy, grants[0]);
  g_assert_true (take (&noting, made, 1, &grants[1]));
  g_assert_true (take (&noting, made, 2, &grants[2]));
  g_assert_cmpuint (noting.n_orders, ==, 1);
  tessera_policy_free (noting.policy);
}

/* What does not end while the host looks is not waited for. Three of them, and the plan is
 * of no use. */
static void
test_failed_trial (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  TesseraPolicyGrant grants[3];
  TesseraPolicyStats stats;
  Noting noting;

  open_noting (&noting, made);
  noting.never_ends = true;
  for (guint step = 0; step < 4; step++)
    {
      for (guint i = 0; i < 3; i++)
        {
          g_assert_cmpint (take (&noting, made, i, &grants[i]), ==, i != 2 && step < 3);
          program_give_back (noting.policy, grants[i]);
        }
      tessera_policy_get_stats (noting.policy, &stats);
      g_assert_cmpint (stats.decline.is_declined, ==, step >= 2);
      g_assert_cmpint (stats.decline.lacks_barriers, ==, step >= 2);
      tessera_policy_step (noting.policy);
    }
  g_assert_cmpuint (noting.n_tries, ==, 3);
  g_assert_cmpuint (noting.n_orders, ==, 0);
  tessera_policy_free (noting.policy);
}

/* The same where nothing can ever be marked, as once a second device is used; at one
 * moment that is asked once. */
static void
test_never_marked (void)
{
  g_autofree MadePlan *made = make_plan (60 * MIB);
  TesseraPolicyGrant grants[3];
  TesseraPolicyStats stats;
  Noting noting;
  guint step = 0;

  open_noting (&noting, made);
  noting.refuses_marks = true;
  do
    {
      for (guint i = 0; i < 3; i++)
        {
          take (&noting, made, i, &grants[i]);
          program_give_back (noting.policy, grants[i]);
        }
      tessera_policy_step (noting.policy);
      tessera_policy_get_stats (noting.policy, &stats);
    }
  while (!stats.decline.is_declined && ++step < 100);
  g_assert_true (stats.decline.lacks_barriers);
  g_assert_cmpuint (step, >, 20);
  tessera_policy_free (noting.policy);
}

/* Where no mark can be had, as while a graph is captured, nothing passes; later it does. */
static void
test_no_marks (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  TesseraPolicyGrant grants[3];
  Noting noting;

  open_noting (&noting, made);
  for (guint step = 0; step < 3; step++)
    {
      noting.refuses_marks = step == 0;
      for (guint i = 0; i < 3; i++)
        {
          if (step == 1 && i == 2)
            tessera_policy_set_routed (noting.policy, true);
          g_assert_cmpint (take (&noting, made, i, &grants[i]), ==, i != 2 || step == 2);
          tessera_policy_set_routed (noting.policy, false);
          program_give_back (noting.policy, grants[i]);
        }
      tessera_policy_step (noting.policy);
    }
  tessera_policy_free (noting.policy);
}

/* A device without barriers refuses the plan, and says why. */
static void
test_no_barriers (void)
{
  g_autofree MadePlan *made = make_plan (2 * MIB);
  const TesseraPolicyOptions options = made_plan_options (made);
  const TesseraObserver observer = { 0 };
  TesseraVirtual device;
  TesseraPolicy *policy;
  TesseraError error = { 0 };

  tessera_virtual_init (&device, 0);
  device.device.order = NULL;
  GIVES (TESSERA_REFUSED,
         tessera_policy_new (&options, &device.device, &observer, &error, &policy));
  g_assert_nonnull (strstr (error.text, "--streams-apart"));
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/handover/waits", test_waits);
  g_test_add_func ("/handover/side-streams", test_side_streams);
  g_test_add_func ("/handover/new-pages", test_new_pages);
  g_test_add_func ("/handover/other-thread", test_other_thread);
  g_test_add_func ("/handover/failed-trial", test_failed_trial);
  g_test_add_func ("/handover/never-marked", test_never_marked);
  g_test_add_func ("/handover/no-marks", test_no_marks);
  g_test_add_func ("/handover/no-barriers", test_no_barriers);
  return g_test_run ();
}
