/*
 * What the files that make TesseraSlots (allocator/follow/slots.h) share, and nobody
 * else.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/slots.h"

/* signatures.c: enters a request of this shape, with a number of its own if it is the
 * first:
 * @n_signatures counts them. Returns: its signature. */
uint32_t tessera_slots_sign (TesseraSlots *slots,
                             uint64_t block_bytes,
                             uint32_t stream,
                             uint32_t pool,
                             uint32_t *n_signatures);
/* The signature of a slot's own requests. */
uint32_t tessera_slots_signature_of (const TesseraSlots *slots, uint32_t slot);

/* rotas.c: slots->rotas, next_places and n_rotas. TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_slots_fill_rotas (TesseraSlots *slots);

/* grams.c: slots->grams, of all sections; there is room for one a request. */
void tessera_slots_fill_grams (TesseraSlots *slots);
