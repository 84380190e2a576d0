/*
 * How long the range of a swept slot stays closed to blocks of the other size class after
 * its block's end, whatever the length.
 *
 * PyTorch keeps small blocks (at most 1 MiB) and large ones apart, and a program of
 * several streams may rely on that: a range passes between them only once the stream has
 * asked for something that PyTorch could have served from the block, of its class and not
 * larger (planner/plan/closing.h). Which request is the first depends on the sizes, and
 * so does the class: a block may be small in short steps and large in long ones. So this
 * is looked for at each of many lengths, and the latest counts.
 *
 * Example: A of L KiB ends at slot 4. Slot 5 asks for 2 MiB, slot 6 for 1 KiB. At 512 and
 * at 1,000 the range opens at slot 6; at 4,000, where A is large, at slot 5.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "db/status.h"

enum
{
  TESSERA_CLOSED_OWNERS = 256 /* the packer's */
};

typedef struct
{
  uint32_t owner; /* slots of one owner are of one class at each length */
  uint32_t opens; /* slot at whose request the range is open to all: not before its end;
                     n_slots: in this step it is not */
  uint32_t tail;  /* then the same of the next step, of the same length; else 0. Not
                     beyond the slot's own request */
} TesseraClosed;

/*
 * tessera_closed_find:
 * @at: (array length=n_at): lengths that are looked at; where laws give no sizes nothing
 *   is closed
 * @out: [n_slots]; of slots that are not swept all 0
 * @out_is_for: false: there are more owners than TESSERA_CLOSED_OWNERS
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY
 */
TESSERA_MUST_USE TesseraStatus tessera_closed_find (const TesseraLengths *lengths,
                                                    const TesseraParameters *at,
                                                    size_t n_at,
                                                    TesseraClosed *out,
                                                    bool *out_is_for);
