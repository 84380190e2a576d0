/*
 * The two lengths of a step with an encoder and a decoder, and its batch, from what its
 * sizes are proportional to.
 *
 * The source gives the sizes of the encoder, the target those of the decoder, and both
 * multiplied those of what the decoder looks up in the encoder. So two of the directions
 * that most slots lie in are taken as source and target (times batch), each direction and
 * quotient as batch; those are good with which most slots lie in the direction of one of
 * the terms of laws (db/lengths.h), and of equals those of the least numbers: what is
 * multiplied in a length's place is none.
 *
 * Example: sizes of two steps in the directions (2, 3), (5, 4), (10, 12), (4, 9): (2, 3)
 * and (5, 4) as lengths explain all four, as S, T, S x T and S x S.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/fit/directions.h"

enum
{
  TESSERA_TWO_LENGTHS = 12 /* that are worth to be looked at */
};

/*
 * tessera_two_lengths_find:
 * @known: (array length=n_known): directions, those of most slots first
 * @others: (array length=n_others): directions that batches are taken from, too
 *
 * Returns: how many are in @out, the best ones first; which length is the first is not
 *   said
 */
size_t tessera_two_lengths_find (const TesseraDirection *known,
                                 size_t n_known,
                                 const TesseraDirection *others,
                                 size_t n_others,
                                 uint32_t n_steps,
                                 TesseraFitSteps out[TESSERA_TWO_LENGTHS]);

/* Whether the law has terms of one length only; *out_is_second: of which. */
bool tessera_law_tells_one (const TesseraSizeLaw *law, bool *out_is_second);
