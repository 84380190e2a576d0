/*
 * Functions that nobody wrote by hand: generated from symbols.txt under policy.txt.
 *
 * One that only computes does nothing and says that it worked. Any other fails, with an
 * error of its library, and is named in the text of that error. Their arguments are not
 * read, so that they are declared without any.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "nullcuda/device.h"
#include "nullcuda/settings.h"

/* Where no device is offered, nothing works. */
#define NULL_STUB(name, answer)                                                          \
  __attribute__ ((visibility ("default"), weak)) long name (void);                       \
  long name (void) { return answer; }

#define NULL_QUIET(name)                                                                 \
  NULL_STUB (name, null_settings ()->refuses ? NULL_NO_DEVICE : NULL_OK)
#define NULL_FAILS(name, error) NULL_STUB (name, null_unsupported (#name, error))
