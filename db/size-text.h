/*
 * Sizes as text: the one table of units, the one parser and the one formatter.
 *
 * KB, MB, GB, TB are powers of 1000, KiB, MiB, GiB, TiB powers of 1024; a bare K, M, G, T
 * is a power of 1024, as in GNU's tools. The null CUDA compiles this file in, so it needs
 * nothing of the rest of the folder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct
{
  const char *name;
  double bytes;
} TesseraSizeUnit;

/* B, KiB ... EiB: each 1024 of the one before. */
#define TESSERA_N_SIZE_UNITS 7
extern const TesseraSizeUnit tessera_size_units[TESSERA_N_SIZE_UNITS];

/* The largest unit of which @bytes are at least @least (1 or more), or B. */
const TesseraSizeUnit *tessera_size_unit (double bytes, double least);
/* "512", "24GB", "1.5 GiB": digits, perhaps with decimals, and perhaps a unit in letters
 * of either case, with blanks around each. Whole numbers are exact, decimals are rounded
 * to the nearest byte. Returns: whether @text is a size below 2^63. */
bool tessera_parse_bytes (const char *text, uint64_t *out_bytes);
/* "512 B", "1.50 GiB". Returns: @buffer, which TESSERA_SIZE_TEXT bytes always suffice
 * for.
 */
#define TESSERA_SIZE_TEXT 32
char *tessera_format_bytes (uint64_t bytes, char *buffer, size_t n_buffer);
/* The same in place: the text lives until the end of the block that it is written in. */
#define TESSERA_SIZE(size_bytes)                                                         \
  tessera_format_bytes ((size_bytes), (char[TESSERA_SIZE_TEXT]){ 0 }, TESSERA_SIZE_TEXT)
