/*
 * Interned strings: equal text, equal id; the text never moves.
 *
 * Ids count from 0 by first use. Text ends at its first NUL byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/trace.h"

TESSERA_MUST_USE TesseraStatus tessera_strings_new (TesseraStrings **out_strings);
void tessera_strings_free (TesseraStrings *strings); /* NULL is fine */

/* Returns: TESSERA_NO_MEMORY, or TESSERA_BAD_INPUT beyond 2^32 - 2 strings. */
TESSERA_MUST_USE TesseraStatus tessera_strings_intern (TesseraStrings *strings,
                                                       const char *text,
                                                       size_t n_bytes,
                                                       uint32_t *out_string);
const char *tessera_strings_get (const TesseraStrings *strings, uint32_t string);
size_t tessera_strings_count (const TesseraStrings *strings);
