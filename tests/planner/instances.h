/*
 * Planner instances of the shared data, for benchmarks and tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

#include <glib.h>

/* Of TesseraItem: the lines `id,lower,upper,size` of dsa/NAME.csv in the shared data;
 * empty where it is not there. */
GArray *test_instance_read (const char *name);
