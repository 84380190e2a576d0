/*
 * The strategy `stalloc`: groups laid out as units, as STAlloc (EuroSys '26) does.
 *
 * 1. Each HomoPhase, persistent or hand-made group is laid out by itself (lowest gap, in
 *    order of birth) and is one large request from there on. The smaller of two adjacent
 *    groups (the end phase of the first is the start phase of the second) is inserted into
 *    the larger where that makes the area smaller.
 * 2. These units, and the members of HomoSize groups one by one, go in descending size
 *    into memory layers of equal size: first into the free time of layers that stand, the
 *    rest into layers of their own by interval colouring. Layers lie on top of each other.
 * 3. Dynamic requests (HomoLayer) take what is left free during their lives.
 *
 * Three things that the paper does not know: an item that wraps has two lives in the
 * canonical step and is a unit by itself; zones (streams) have layers of their own; and
 * edits pin items, or keep them together or apart. Such items leave their groups, and so
 * does each item of a layer at an address where something is pinned: the packer places
 * them, with the dynamic requests, around the layers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/pack.h"

/* What groups an item. Phases are numbers that are equal where names are. */
typedef struct
{
  uint32_t group;                /* number, or TESSERA_NONE: a unit by itself */
  uint32_t from_phase, to_phase; /* of birth and death; TESSERA_NONE: none */
  uint8_t kind;                  /* TesseraGroupKind */
} TesseraStallocItem;

/*
 * tessera_stalloc_pack:
 * @items: as they are packed freely
 * @grouped: (array length=n_items)
 * @offsets: (array length=n_items): filled on success
 *
 * Returns: as tessera_pack() does
 */
TESSERA_MUST_USE TesseraStatus tessera_stalloc_pack (const TesseraItem *items,
                                                     const TesseraStallocItem *grouped,
                                                     size_t n_items,
                                                     const TesseraPackOptions *options,
                                                     uint64_t *offsets,
                                                     TesseraPacking *out_packing);
