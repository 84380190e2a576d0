/*
 * What the files that follow a plan for every length share, and nobody else: what is
 * known of the step under way. early.c serves the requests that come before its length is
 * known, lengths.c what comes then.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/lengths/fixed.h"
#include "allocator/follow/lengths/guess.h"
#include "allocator/follow/lengths/lengths.h"

enum
{
  /* Requests of a step that no early slot is like, before it counts as lost. */
  TESSERA_LENGTHS_STRANGERS = 64
};

typedef enum
{
  TESSERA_LENGTHS_START, /* before the first step */
  TESSERA_LENGTHS_EARLY, /* of a step whose length is not known */
  TESSERA_LENGTHS_KNOWN,
  TESSERA_LENGTHS_UNPLANNED
} TesseraLengthsState;

struct TesseraLengthsFollower
{
  const TesseraLengths *lengths;
  TesseraLengthsHooks hooks;
  uint64_t most_height_bytes; /* that a step may be planned with */
  TesseraFixedPlaces fixed;
  bool *is_spare, *is_there; /* [n_slots] for the next instance */
  TesseraLengthsState state;
  TesseraGuess guess;
  TesseraParameters known; /* of this step */
  uint32_t next_early;     /* slot */
  uint32_t n_strangers;
  uint32_t phase;    /* that the run is in: of the plan's strings; not below n_strings:
                        another one, or TESSERA_NONE */
  TesseraPlan *plan; /* of this step, or of the start */
  bool has_phases;   /* the run tells them */
  bool is_new_phase; /* an early slot's, for the first time in this step */
  bool *was_phase;   /* [n_strings] in this step */
  TesseraCutter cutter;
  bool is_later_part;                     /* not the first of its step */
  bool was_placeless;                     /* the last request */
  uint32_t n_missed;                      /* in a row */
  uint64_t before[TESSERA_GUESS_LEADING]; /* the last that were asked for before the first
                                             step, where its batch may be among them */
  uint32_t n_before;
  TesseraFollower *follower;
  TesseraFollowerStats stats; /* of what is past, and of early requests */
};

/* lengths.c: the length of the step is not known, whatever was thought so far. */
void tessera_lengths_begin_early (TesseraLengthsFollower *follower);
/* The length is known: a plan for the rest of the step. Whoever knows it in the phase
 * that tells it has no doubt because of that phase. */
void tessera_lengths_begin_known (TesseraLengthsFollower *follower,
                                  const TesseraParameters *parameters);

/* early.c: as tessera_lengths_follower_malloc(), of a step whose length is not known. */
bool tessera_early_serve (TesseraLengthsFollower *follower,
                          uint64_t size_bytes,
                          uint32_t stream,
                          uint32_t pool,
                          uint64_t *out_offset_bytes);
/* A request came though the length is known. What comes between steps may look like the
 * begin of one. Where nothing of it hits, or a phase begins in which the length is told,
 * a request that would be the first of a step of another length is. */
void tessera_early_doubt (TesseraLengthsFollower *follower,
                          uint64_t size_bytes,
                          uint32_t stream,
                          uint32_t pool);
/* Before the first step: keeps the last requests like those that a step begins with. */
void tessera_early_remember (TesseraLengthsFollower *follower,
                             uint64_t size_bytes,
                             uint32_t stream,
                             uint32_t pool);
