/*
 * The skyline as windows: longest runs of sections of equal height.
 *
 * A window in which nothing fits any more is lifted to its lower neighbour and becomes
 * one with it: whoever comes next there reaches into the neighbour anyway. So a window
 * may stand higher than what has been placed, never lower.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct
{
  uint32_t n_sections;
  uint32_t n_leaves;  /* a power of two */
  uint64_t *lowest;   /* [2 * n_leaves]: of the windows that begin below; UINT64_MAX:
                         none does. Leaf s: height of the window that begins at s */
  uint32_t *end;      /* [n_sections] of the window that begins here */
  uint32_t *previous; /* [n_sections] begin of the window before the one that begins here,
                         or UINT32_MAX */
} TesseraWindows;

TESSERA_MUST_USE TesseraStatus tessera_windows_init (TesseraWindows *windows,
                                                     uint32_t n_sections);
void tessera_windows_clear (TesseraWindows *windows); /* frees; a zeroed one is fine */
/* One window of height 0. */
void tessera_windows_flatten (TesseraWindows *windows);
/* The first of the lowest windows: where it begins; its height and end. */
uint32_t tessera_windows_lowest (const TesseraWindows *windows,
                                 uint64_t *out_height_bytes,
                                 uint32_t *out_end);
/* The height of the window that holds @section, and its end. */
uint64_t
tessera_windows_at (const TesseraWindows *windows, uint32_t section, uint32_t *out_end);
/* The height of the lower neighbour of the window that begins at @begin; UINT64_MAX:
 * there is none. */
uint64_t tessera_windows_beside (const TesseraWindows *windows, uint32_t begin);
/* Raises the sections of [begin, end) that stand lower to @height_bytes. */
void tessera_windows_raise (TesseraWindows *windows,
                            uint32_t begin,
                            uint32_t end,
                            uint64_t height_bytes);
/* Returns: false when there is no other window to lift it to. */
bool tessera_windows_lift (TesseraWindows *windows, uint32_t begin);
