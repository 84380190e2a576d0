/*
 * The checker: accepts a plan or says which law it breaks. Shares nothing with the
 * packer.
 *
 * Laws: alignment, bounds (0 <= offset, offset + size <= height), lifetimes (born < died,
 * inside the plan), no overlap in time x address, streams (no shared address between
 * streams unless the plan says across_streams and lists the hand-over), sections (slots
 * in order, each in its own), peak as stated, bound as stated, digest, and, given the
 * trace, fingerprint. O(n log n).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"

typedef enum
{
  TESSERA_LAW_NONE,
  TESSERA_LAW_ALIGNMENT,
  TESSERA_LAW_BOUNDS,
  TESSERA_LAW_LIFETIME,
  TESSERA_LAW_OVERLAP,
  TESSERA_LAW_STREAMS,
  TESSERA_LAW_SECTIONS,
  TESSERA_LAW_HEIGHT,
  TESSERA_LAW_BOUND,
  TESSERA_LAW_DIGEST,
  TESSERA_LAW_FINGERPRINT
} TesseraLaw;

const char *tessera_law_name (TesseraLaw law);

/* @trace: (nullable): the trace it claims to be made from. On TESSERA_REFUSED *out_law is
 * the first broken law and @error says expected and found. */
TESSERA_MUST_USE TesseraStatus tessera_check_plan (const TesseraPlan *plan,
                                                   const TesseraTrace *trace,
                                                   TesseraLaw *out_law,
                                                   TesseraError *error);
