/*
 * Which device a thread uses, and how calls fail.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/api.h"

/* The calling thread's device, or -1 where the library refuses to serve. */
int null_device_current (void);

/* Writes up to 16 bytes, told apart by the device's number. */
void null_device_uuid (int device, char *out_uuid);

/* Keeps @error as the last one of the thread, unless that is NULL_OK, where @name is a
 * function of the runtime. Returns @error. */
int null_report (int error, const char *name);
/* The same for what is not supported, said once per @name on stderr where logging is on.
 * Returns @error, in the numbers of the library that @name belongs to. */
int null_unsupported (const char *name, int error);
/* A sentence that names the last call that was not supported on this thread, or NULL. */
const char *null_unsupported_text (void);

/* Functions that nobody wrote by hand: generated from symbols.txt under policy.txt.
 *
 * One that only computes does nothing and says that it worked. Any other fails, with an
 * error of its library, and is named in the text of that error. Their arguments are not
 * read, so that they are declared without any. */

/* Where no device is offered, nothing works. */
#define NULL_STUB(name, answer)                                                          \
  __attribute__ ((visibility ("default"), weak)) long name (void);                       \
  long name (void) { return answer; }

#define NULL_QUIET(name)                                                                 \
  NULL_STUB (name, null_settings ()->refuses ? NULL_NO_DEVICE : NULL_OK)
#define NULL_FAILS(name, error) NULL_STUB (name, null_unsupported (#name, error))
