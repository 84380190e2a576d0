/*
 * How many random programs are run, and from which seed on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

/* @otherwise: where the variable is not set. */
static inline guint64
storms_variable (const char *variable, guint64 otherwise)
{
  const char *text = g_getenv (variable);

  return text != NULL ? g_ascii_strtoull (text, NULL, 10) : otherwise;
}

static inline guint64
storms_first_seed (guint64 otherwise)
{
  return storms_variable ("TESSERA_STORM_SEED", otherwise);
}

static inline guint64
storms_number (guint64 otherwise, guint64 n_long)
{
  return storms_variable ("TESSERA_STORMS",
                          g_getenv ("TESSERA_TEST_LONG") != NULL ? n_long : otherwise);
}
