/*
 * A law for the sizes of a slot, from what was seen of it.
 *
 * A law counts only if it gives every size to the byte, and would be the same if any one
 * observation were left out: it then gave that one without having seen it. Steps with the
 * same parameters are one observation. A law of k coefficients so needs k + 1 different
 * ones at least, with k independent ones among them whichever is left out. What has no
 * law is bounded by the largest size that was seen.
 *
 * Exact throughout: coefficients are fractions (Cramer's rule in 128 bits, refused where
 * that is not enough). Most laws that are tried are contradicted by a few observations,
 * which arithmetic by 2^64 sees at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/fit/terms.h"

/*
 * tessera_fit_law:
 * @sizes: (array length=n_steps): bytes, or TESSERA_ABSENT
 *
 * Of several laws that hold, the simplest. Never fails: see TESSERA_SIZE_BOUNDED.
 */
void tessera_fit_law (const TesseraFitTerms *terms,
                      const uint64_t *sizes,
                      TesseraSizeLaw *out_law);
