/*
 * A device under its lock: what it follows, its limit, and the marks of the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/process/recording.h"

void
tessera_device_lock (RuntimeDevice *device)
{
  pthread_mutex_lock (&device->lock);
}

void
tessera_device_enter (RuntimeDevice *device, TesseraRecorder *recorder)
{
  pthread_mutex_lock (&device->lock);
  device->recorder = tessera_recorder_still (recorder);
}

void
tessera_device_unlock (RuntimeDevice *device)
{
  device->recorder = NULL;
  pthread_mutex_unlock (&device->lock);
}

uint64_t
tessera_device_limit (const RuntimeDevice *device, double fraction)
{
  return fraction > 0 && fraction < 1
             ? (uint64_t) (fraction * (double) device->memory_bytes)
             : 0;
}

void
tessera_device_set_fraction (RuntimeDevice *device, double fraction)
{
  tessera_device_lock (device);
  tessera_policy_set_limit (device->policy, tessera_device_limit (device, fraction));
  tessera_device_unlock (device);
}

void
tessera_device_see_streams (RuntimeDevice *device)
{
  tessera_device_lock (device);
  tessera_policy_see_streams (device->policy);
  tessera_device_unlock (device);
}

void
tessera_device_step (RuntimeDevice *device, TesseraRecorder *recorder)
{
  tessera_device_enter (device, recorder);
  device->step_is_new = true;
  device->step_hash = 0;
  tessera_device_unlock (device);
}

bool
tessera_device_step_repeats (RuntimeDevice *device)
{
  bool does;

  tessera_device_lock (device);
  does = device->step_hash == device->last_step_hash;
  device->last_step_hash = device->step_hash;
  tessera_device_unlock (device);
  return does;
}

void
tessera_device_phase (RuntimeDevice *device, const char *name)
{
  char *phase = name != NULL ? strdup (name) : NULL;

  tessera_device_lock (device);
  free (device->phase);
  device->phase = phase;
  device->phase_is_new = true;
  tessera_device_unlock (device);
}

/* A step or phase in which nothing happens is in no trace, so that the policy must not
 * see it either: what it does would differ from its simulation. */
void
tessera_device_tell_marks (RuntimeDevice *device)
{
  if (device->step_is_new)
    tessera_policy_step (device->policy);
  if (device->phase_is_new)
    tessera_policy_phase (device->policy, device->phase);
  device->step_is_new = device->phase_is_new = false;
}

void
tessera_device_mark (RuntimeDevice *device, TesseraRecorder *recorder)
{
  const RuntimeBlock nothing = { 0 };

  tessera_device_enter (device, recorder);
  tessera_device_record (device, TESSERA_MARK, &nothing, TESSERA_NONE);
  tessera_device_unlock (device);
}
