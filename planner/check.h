/*
 * The checker: accepts a plan or says which law it breaks. Shares nothing with the
 * packer, not even a helper. O(n log n) in slots.
 *
 * Laws, in the order in which they are tried; the first that is broken is the verdict:
 *
 * alignment   alignment_bytes is not 0; every block_bytes and offset_bytes is a multiple
 *             of it; block_bytes is not 0 and not less than size_bytes
 * bounds      offset_bytes + block_bytes <= height_bytes, without overflow
 * sections    sections in order and disjoint, within [0, n_positions), one at most
 *             repeats; first_slot and n_slots cut the slots without rest; a slot names
 *             its section and is born inside it, in order of birth; those that are no
 *             request's own (ordinal TESSERA_NONE) may stand anywhere in the section and
 *             be born at its begin though it is empty
 * lifetimes   born < died <= n_positions; one that wraps belongs to the section that
 *             repeats, died >= its end, begin < died_next <= its end; else died_next is 0
 * unplanned   requests without a place are born inside their section and in order, each
 *             after the slot before the one that it says comes next, and before that;
 *             with a size as slots have it, and stream < n_streams. They have no address:
 *             no law of addresses, heights and bounds knows them
 * overlap     two slots that are alive in one moment share no address. A slot is alive
 *             over [born, died) and, when it wraps, over [section begin, died_next) too:
 *             over all of [section begin, died) where died_next >= born
 * rotation        slots of the section that repeats which wrap with died_next >= born and
 * are
 *             equal in stream, pool and block_bytes are a rotation, if one of them has
 *             died_next > born. They have the same end, and their requests (those with
 *             an ordinal) have never more blocks alive together than the rotation has
 *             slots: each block over [born, section end) and [section begin, died_next)
 * streams     stream < n_streams. Slots of different pools never share an address, nor,
 *             unless the plan crosses streams, those of different streams
 * rooms       rooms in order, each once, of a section's slot and a stream; from the
 *             request before it on and until died (and of the next step until died_next)
 *             no slot has an address of a room's range, which is aligned and below the
 *             height; slots of other streams or pools, and with several streams of the
 *             other size class, never have. Regions lie one above the other from
 *             height_bytes on, one of each stream and class. None with several kinds of
 *             step
 * height      height_bytes is the highest end of a slot or room
 * bound       bound_bytes is the largest sum of block_bytes alive in one moment
 * proof       proven_bound_bytes is 0, or neither below bound_bytes nor above
 *             height_bytes. That no layout is lower is a search's word: it is not
 *             searched again here
 * digest      slot_digest is what tessera_plan_digest() says
 * fingerprint trace_fingerprint is the trace's (where a trace is given)
 *
 * Where several sections repeat (kinds of step, db/plan.h) these say instead:
 *
 * sections    they lie side by side, 64 at most. If they alternate, all do: first layouts
 *             and then as many second ones, which ask for the same; a section that has a
 *             slot with died_next at its own begin sees all such slots of the other
 *             layout end
 * lifetimes   besides: what of the start outlives it does so over all kinds, what of a
 *             kind wraps ends with its section or after all kinds, all else inside its
 *             section; crossings are in order, each of a slot that wraps into the section
 *             of another kind, and end inside it. A slot of a layout with died_next at
 *             its section's begin may cross other sections of that layout so
 * overlap     whatever kinds of step came before, where a slot is born none that may be
 *             alive shares an address with it: one of the start that lives on, one of its
 *             own kind up to died_next, one of another kind that wraps up to its crossing
 *             (else over the whole section). Places of rotations are held in all kinds
 * rotation        every kind that has places of the rotation has all of them. Where a
 * request of
 *             it is made, there is room for what was made in this step and what was
 *             found: of one kind if each that makes any sees all others end, else of all
 *             kinds
 * bound       bound_bytes is the most that may be held at one moment, each address once
 *
 * And of a plan made with edits (tessera_check_edits):
 *
 * pin         what is pinned lies at its offset
 * together    slots that stay together keep their distances
 * apart       slots kept apart share no address, whenever they live; one of a rotation
 * stands
 *             for all places of it
 * cap         height_bytes is at most what the pool may take
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/plan.h"
#include "planner/edits/holds.h"

typedef enum
{
  TESSERA_LAW_NONE,
  TESSERA_LAW_ALIGNMENT,
  TESSERA_LAW_BOUNDS,
  TESSERA_LAW_LIFETIME,
  TESSERA_LAW_OVERLAP,
  TESSERA_LAW_ROTATION,
  TESSERA_LAW_STREAMS,
  TESSERA_LAW_SECTIONS,
  TESSERA_LAW_HEIGHT,
  TESSERA_LAW_BOUND,
  TESSERA_LAW_PROOF,
  TESSERA_LAW_DIGEST,
  TESSERA_LAW_FINGERPRINT,
  TESSERA_LAW_PIN,
  TESSERA_LAW_TOGETHER,
  TESSERA_LAW_APART,
  TESSERA_LAW_CAP,
  TESSERA_LAW_ROOMS,
  TESSERA_LAW_UNPLANNED
} TesseraLaw;

const char *tessera_law_name (TesseraLaw law);

/* @trace: (nullable): the trace it claims to be made from. On TESSERA_REFUSED *out_law is
 * the first broken law and @error says expected and found. TESSERA_NO_MEMORY else. */
TESSERA_MUST_USE TesseraStatus tessera_check_plan (const TesseraPlan *plan,
                                                   const TesseraTrace *trace,
                                                   TesseraLaw *out_law,
                                                   TesseraError *error);

/* A plan for every length: the start, each observed step and others up to the most, seen
 * as plans of their own. Laws that give no size somewhere plan nothing there. As above.
 */
TESSERA_MUST_USE TesseraStatus tessera_check_lengths (const TesseraLengths *lengths,
                                                      TesseraLaw *out_law,
                                                      TesseraError *error);

/* Whether what is pinned lies there in the start and in a step of any length: at the same
 * parameters as above. @of_slot: [n_slots] offset or UINT64_MAX: not pinned; @of_start:
 * [n_start] the same. As above. */
TESSERA_MUST_USE TesseraStatus tessera_check_lengths_pins (const TesseraLengths *lengths,
                                                           const uint64_t *of_slot,
                                                           const uint64_t *of_start,
                                                           TesseraLaw *out_law,
                                                           TesseraError *error);

/* What is to share no address, by slot and by block of the start: one side and the other,
 * or one that is apart in itself. */
typedef struct
{
  const uint64_t *slots, *start; /* [n_slots], [n_start] bits */
  uint64_t one, other;           /* the sides' bits; the same: it is apart in itself */
} TesseraLengthsApart;

/* Whether that is so in the start and in steps of any length, also from one length to
 * another: at the same parameters as above. As above. */
TESSERA_MUST_USE TesseraStatus
tessera_check_lengths_apart (const TesseraLengths *lengths,
                             const TesseraLengthsApart *apart,
                             TesseraLaw *out_law,
                             TesseraError *error);

/* Whether @plan keeps what edits hold its slots to. As above. */
TESSERA_MUST_USE TesseraStatus tessera_check_edits (const TesseraPlan *plan,
                                                    const TesseraHolds *holds,
                                                    uint64_t cap_bytes,
                                                    TesseraLaw *out_law,
                                                    TesseraError *error);
