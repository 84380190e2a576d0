/*
 * The library in its process: started, stopped, forked; and its devices.
 *
 * Locks, in the order in which they are taken: marks (phases and steps), process (opening
 * devices), one per device; notices last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "runtime/device/device.h"
#include "runtime/guest.h"

enum
{
  TESSERA_MAX_DEVICES = 64
};

/* The device, opened if need be; NULL and @error where it cannot be. Takes locks. */
RuntimeDevice *tessera_process_device (int ordinal, TesseraError *error);
/* NULL where it was never used, or the number is none. Takes no lock. */
RuntimeDevice *tessera_process_known_device (int ordinal);

/* How many devices PyTorch sees. Any thread, before the first device is used. */
void tessera_process_see_devices (int n_devices);
/* What tessera_torch_uses_streams() says changed to true. Takes locks. */
void tessera_process_see_streams (int ordinal);

/* What the marks say now, for a device that opens late. Called with the marks' lock. */
void tessera_marks_lock (void);
void tessera_marks_unlock (void);
void tessera_marks_tell (RuntimeDevice *device);
/* A recording begins: in it the phases that are open begin here. Called with the lock. */
void tessera_marks_record (TesseraRecorder *recorder);
void tessera_marks_after_fork (void);

/* Asks Python for the module of a thread that has none of its own. No lock may be held:
 * takes the interpreter's. */
void tessera_finder_ask (TesseraRecorder *recorder);
