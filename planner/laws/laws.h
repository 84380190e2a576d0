/*
 * The kinds of step of a trace, and how their sizes follow from what varies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/laws/fit/parameters.h"
#include "planner/laws/parts/parts.h"

enum
{
  TESSERA_LAW_STEPS =
      3 /* that a kind needs: two show no more than that something varies */
};

typedef struct
{
  TesseraStepParts
      parts;          /* of steps, where laws are of these; phase NULL: of whole steps */
  TesseraKinds kinds; /* of steps, or parts */
  TesseraKindLaws *laws; /* [n_kinds]; all 0 for kinds of fewer steps or without laws */
} TesseraLaws;

/* TESSERA_OK or TESSERA_NO_MEMORY. */
TESSERA_MUST_USE TesseraStatus tessera_laws_new (const TesseraTrace *trace,
                                                 const TesseraBlocks *blocks,
                                                 const TesseraStructure *structure,
                                                 TesseraLaws **out_laws);
void tessera_laws_free (TesseraLaws *laws); /* NULL is fine */

/* The kind of most steps whose sizes vary by a law, or NULL: then steps are equal, or too
 * few, or have nothing in common. */
const TesseraKind *tessera_laws_main (const TesseraLaws *laws,
                                      const TesseraKindLaws **out_kind_laws);
