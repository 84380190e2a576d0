/*
 * Bodies whose items are of several zones, where a layout of before is known.
 *
 * Zones that share a body can't be placed one after the other, nor repaired. But once the
 * body lies somewhere they can: it is a pin. So some bases are tried, by what they seem
 * to cost: zones lie above each other, and an item of the body that comes to lie among
 * the addresses of another zone takes as many bytes from it for good.
 *
 * Example: zone 0 lay at 0..10, zone 1 at 10..16; A of zone 0 (size 2) and B of zone 1
 * (size 3) are a body, B above A. At base 8 A ends where its zone ends and B begins where
 * its own does: nothing is lost. At 0, B would take 3 from zone 0.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack.h"

/* As tessera_pack(), without knowing of this. */
typedef TesseraStatus (*TesseraPackWay) (const TesseraItem *items,
                                         size_t n_items,
                                         const TesseraPackOptions *options,
                                         uint64_t *offsets,
                                         TesseraPacking *out_packing);

/*
 * tessera_pack_spread:
 * @options: with a former layout
 * @pack: is called with some of @items pinned, or as they are
 *
 * The lowest of the layouts with bodies of several zones pinned: some bases at a glance,
 * the best of them with all of the work. Where there is no such body, or none of its
 * bases can be had, @items are packed as they are. Fails as tessera_pack() does.
 */
TESSERA_MUST_USE TesseraStatus tessera_pack_spread (const TesseraItem *items,
                                                    size_t n_items,
                                                    const TesseraPackOptions *options,
                                                    TesseraPackWay pack,
                                                    uint64_t *offsets,
                                                    TesseraPacking *out_packing);
