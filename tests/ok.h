/*
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/status.h"

/* The call, whose status this is, has nothing to say in @error. */
static inline void
works (TesseraStatus status, const TesseraError *error)
{
  g_assert_cmpstr (error->text, ==, "");
  g_assert_cmpint (status, ==, TESSERA_OK);
}

/* The same of a call that is given the @error of this name, which nobody else wants. */
#define WORKS(error, call)                                                               \
  G_STMT_START                                                                           \
  {                                                                                      \
    TesseraError error = { 0 };                                                          \
    works ((call), &error);                                                              \
  }                                                                                      \
  G_STMT_END

#define OK(call) g_assert_cmpint ((call), ==, TESSERA_OK)
/* ... and what fails does so in the way that is expected. */
#define GIVES(status, call) g_assert_cmpint ((call), ==, (status))
