/*
 * First fit by size, whatever else is known: what other layouts are measured by.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/*
 * tessera_pack_first_fit:
 * @items: without pins, sets and bodies
 * @offsets: (array length=n_items)
 *
 * Largest first, the longer of equal ones, ties as the caller had them; each at the
 * lowest offset where it goes. Zones lie on top of each other.
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_first_fit (const TesseraItem *items,
                                                       size_t n_items,
                                                       uint64_t *offsets,
                                                       uint64_t *out_height_bytes);
