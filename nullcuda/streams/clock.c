/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/streams/clock.h"

#include <pthread.h>

#include "nullcuda/settings.h"
#include "nullcuda/streams/stream.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double now_ns;

void
null_clock_lock (void)
{
  pthread_mutex_lock (&lock);
}

void
null_clock_unlock (void)
{
  pthread_mutex_unlock (&lock);
}

double
null_clock_now (void)
{
  return now_ns;
}

void
null_clock_spend (double ns)
{
  now_ns += ns;
}

void
null_clock_reach (double at_ns)
{
  if (at_ns > now_ns)
    now_ns = at_ns;
}

void
null_clock_wait_for_all (int device)
{
  null_clock_lock ();
  null_clock_reach (null_stream_last_end (device));
  null_clock_unlock ();
}

NULL_API (double, nullcuda_now_ns, void)
{
  null_clock_lock ();
  double ns = now_ns;
  null_clock_unlock ();
  return ns;
}
