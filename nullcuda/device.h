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

/* Keeps @error as the thread's last one, and @name as its place, for the texts that
 * cudaGetErrorString and its relatives give. Returns @error. */
int null_fail (int error, const char *name);
/* The same for what is not supported, said once per @name on stderr where logging is on.
 * Returns @error, in the numbers of the library that @name belongs to. */
int null_unsupported (const char *name, int error);
/* A sentence that names the last call that was not supported on this thread, or NULL. */
const char *null_unsupported_text (void);
