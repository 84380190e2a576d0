/*
 * The strategy `paper`: groups as rectangles, as STAlloc (EuroSys '26) lays them out.
 *
 * 1. HomoPhase, persistent and hand-made groups are laid out by themselves (lowest gap,
 *    in order of birth) and are one large request each. The smaller of two adjacent ones
 *    (the end phase of one is the start phase of the other) is inserted into the larger
 *    where that makes the area smaller. The authors' code has this step switched off:
 *    not @is_grouped, only hand-made groups are rectangles.
 * 2. These, and the members of HomoSize groups one by one, go in descending size into
 *    memory layers of equal size: first into the free time of layers that stand, the rest
 *    into their own by interval colouring. Layers lie on top of each other.
 * 3. Dynamic requests (HomoLayer) take what is left free during their lives.
 *
 * Different here: a request that wraps has two lives in the canonical run; within its
 * group it has its place to itself, and a layer is asked for both. Where edits hold items
 * to something, these leave their groups; the others keep their rectangles as bodies that
 * the packer places among them, or stay in layers but for what lies where something is
 * pinned (held.h): whichever is lower.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/pack.h"

/* What groups an item; phases are numbers that are equal where names are. */
typedef struct
{
  uint32_t group;                /* number, or TESSERA_NONE: by itself */
  uint32_t from_phase, to_phase; /* of birth and death; TESSERA_NONE: none */
  uint8_t kind;                  /* TesseraGroupKind */
} TesseraPaperItem;

/*
 * tessera_paper_pack:
 * @items: as they are packed freely; those of different zones share no layer
 * @grouped: (array length=n_items)
 * @offsets: (array length=n_items): filled on success
 *
 * Returns: as tessera_pack() does
 */
TESSERA_MUST_USE TesseraStatus tessera_paper_pack (const TesseraItem *items,
                                                   const TesseraPaperItem *grouped,
                                                   size_t n_items,
                                                   bool is_grouped,
                                                   const TesseraPackOptions *options,
                                                   uint64_t *offsets,
                                                   TesseraPacking *out_packing);
