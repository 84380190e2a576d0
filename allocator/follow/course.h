/*
 * Where a run is in its plan: which of the planned requests, if any, a request is.
 *
 * The run is aligned with the requests of the section it is in, those of slots and the
 * unplanned ones (allocator/follow/slots.h, align.h).
 * Steps and phases that it tells say where it should be; where it lost its way
 * altogether, say after an evaluation, the last requests are looked for in all sections.
 * Of several kinds of step its requests tell which it is
 * (allocator/follow/steps.h). This knows nothing of memory: whether a slot's place
 * is free is another question.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/align.h"
#include "allocator/follow/steps.h"
#include "allocator/follow/slots.h"

enum
{
  TESSERA_MAX_LEFT_OUT = 128
};

typedef struct
{
  const char *name;
  uint32_t phase;
} TesseraPhaseName;

typedef struct
{
  const TesseraPlan *plan;
  const TesseraSlots *slots;
  TesseraPhaseName *phases; /* [plan->n_strings] by name: a run may enter one at every
                               request */
  uint64_t *extras;         /* [n_requests + 1] most bytes of dynamic requests that come
                               before it; NULL: there are none */
  TesseraAlign align;       /* places counted from the first request of @section */
  TesseraFollowKinds kinds;
  uint32_t visit;   /* counts sections entered */
  uint32_t section; /* TESSERA_NONE: the plan has none */
  uint32_t next_section;
  uint32_t recent[TESSERA_GRAM_REQUESTS];  /* a ring: signatures of the last requests */
  uint64_t n_recent;                       /* ever */
  uint32_t left_out[TESSERA_MAX_LEFT_OUT]; /* a ring: slots that the run left out */
  uint32_t n_left_out;                     /* ever */
  uint32_t phase;       /* that the run is in, or TESSERA_NONE: none of the plan's */
  uint32_t out_of_sync; /* how much missed of late */
  uint32_t far_phase; /* place in the section at which the phase begins that was entered,
                         far from the cursor; NONE: the run is where it should be */
  uint32_t far_section; /* ... and of which section */
  uint32_t owed_phase;  /* of the start, which the run left out though it makes what
                           outlives steps; or NONE */
  uint32_t owed_place;  /* ... where it begins ... */
  uint32_t owed_end;    /* ... and ends */
  uint32_t mark;        /* place in the section at which the run told a step */
  bool is_at_mark;      /* ... and entered no phase of the plan since */
  bool has_marks;       /* the run tells its steps */
} TesseraCourse;

/* @slots must outlive @course; rooms of its plan are in order. */
TESSERA_MUST_USE TesseraStatus tessera_course_init (TesseraCourse *course,
                                                    const TesseraSlots *slots);
void tessera_course_clear (TesseraCourse *course);

/* As tessera_follower_step() and tessera_follower_phase(). */
void tessera_course_step (TesseraCourse *course);
void tessera_course_phase (TesseraCourse *course, const char *name);

/* A request came with this signature of the plan's. Returns: which of the plan's requests
 * it is, or TESSERA_NONE. */
uint32_t tessera_course_find (TesseraCourse *course, const TesseraAlignRequest *request);

/* The request that comes next, where a run that is in sync could mean no other by it; or
 * TESSERA_NONE. */
static inline uint32_t
tessera_course_next (const TesseraCourse *course)
{
  uint32_t first;

  if (!course->align.is_sure || course->far_phase != TESSERA_NONE ||
      course->kinds.possible != 0 || course->align.cursor < 0)
    return TESSERA_NONE;
  first = course->slots->first_requests[course->section];
  return course->align.cursor < course->slots->first_requests[course->section + 1] - first
             ? first + (uint32_t) course->align.cursor
             : TESSERA_NONE;
}

/* That request came: what tessera_course_find() would do. */
void tessera_course_pass (TesseraCourse *course, uint32_t request);
