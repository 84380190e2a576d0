/*
 * A layout in work: who waits for a place is put where it costs least, and whoever is in
 * its way waits next (ejection chains, see repack.h).
 *
 * What items are held to (pack.h) holds here too: who is pinned never goes, a body goes
 * and comes as one, and sets keep apart. What is pinned, and ranges that are not to be
 * had, cost more than all else; who can't do without them has no place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "planner/pack/repack/around.h"
#include "planner/pack/repack/cheapest.h"
#include "planner/pack/repack/waiting.h"

/* Waits for a place. */
#define TESSERA_NOWHERE UINT64_MAX

typedef struct
{
  uint64_t looks; /* at lives and ranges, that may be spent: some 50 ns each */
  const TesseraProgress *progress;
  double fraction; /* for @progress, which says when to stop */
} TesseraRepackOptions;

/* Two that may not share an address: one that looks for a place, one that has it. */
typedef struct
{
  uint32_t item, other;
} TesseraMeeting;

typedef struct
{
  const TesseraPackProblem *problem;
  const TesseraRepackOptions *options;
  TesseraAround around;
  TesseraWaitingItems waiting;
  uint64_t *offsets; /* [n_items] or TESSERA_NOWHERE */
  uint16_t *n_gone;  /* [n_items] how often it has had to go */
  uint32_t *in_sets; /* [n_in_sets] items that sets keep apart from others */
  uint32_t n_in_sets;
  size_t max_around, max_meetings; /* that are looked at of one */
  uint32_t *lives;                 /* around the item in hand */
  TesseraMeeting *meetings;
  TesseraEdge *lows, *highs, *scratch;
  uint64_t looks; /* spent */
  bool is_cancelled;
} TesseraEjection;

/* @times: of a problem without zones. Nobody lies
 * anywhere. */
TESSERA_MUST_USE TesseraStatus
tessera_ejection_init (TesseraEjection *ejection,
                       const TesseraTimes *times,
                       const TesseraRepackOptions *options);
void tessera_ejection_clear (TesseraEjection *ejection); /* a zeroed one is fine */

/* Nobody waits, and nobody has had to go: before another target. */
void tessera_ejection_begin (TesseraEjection *ejection);
/* It waits from now on, with all of its body. Must not be pinned, nor wait. */
void tessera_ejection_take_out (TesseraEjection *ejection, uint32_t item);
/* All that sticks out. Nothing that is pinned may. */
void tessera_ejection_take_out_above (TesseraEjection *ejection, uint64_t target_bytes);
/* Whoever is in the way of a pinned item, which lies where it belongs, goes. Returns:
 * false where too many are met. */
bool tessera_ejection_make_way (TesseraEjection *ejection, uint32_t item);
/* Until nobody waits. Returns: true when all lie below the target; false when the looks
 * are spent, or nothing gets better for an eighth of them (a third where items are many),
 * or somebody has no place. */
bool tessera_ejection_reach (TesseraEjection *ejection, uint64_t target_bytes);
