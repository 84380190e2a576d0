/*
 * Which planned request a request is, and what serves it: what the files of the matching share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow.h"
#include "db/plan.h"
#include "db/status.h"

/* ---- What is looked up in a plan ---- */

/* What a follower looks up in a plan: the requests that it expects, in order, with the
 * signature of each; the requests after which a run may be when it lost its way; the
 * rotations of slots and the offsets of all.
 *
 * Requests are those of slots and the unplanned ones, merged; spares are no request's.
 * Only a slot has a place: of an unplanned request nothing but its signature and phase is
 * known here.
 *
 * Made once from a plan and not changed afterwards. */

/* As many requests in a row as tell one place of a run from another. */
enum
{
  TESSERA_GRAM_REQUESTS = 8
};

/* TESSERA_GRAM_REQUESTS requests in a row, by a hash of their signatures. */
typedef struct
{
  uint64_t hash;
  uint32_t last;
} TesseraGram;

/* Requests of the same stream, pool and size have the same signature. */
typedef struct
{
  uint64_t block_bytes;
  uint32_t stream_pool;
  uint32_t signature; /* TESSERA_NONE: an empty place of the table */
} TesseraSignature;

typedef struct
{
  const TesseraPlan *plan;
  uint32_t n_requests;
  uint32_t *first_requests; /* [n_sections + 1] of each section; n_requests */
  uint32_t *signatures;     /* [n_requests] 0, 1, 2 ... by first use */
  uint32_t *phases;         /* [n_requests] */
  uint32_t *next_slots;  /* [n_requests + 1] the request's slot; of an unplanned one that
                            of the next which has one, as for the request after it */
  bool *have_slots;      /* [n_requests] all but the unplanned ones */
  uint64_t most_bytes;   /* of the largest request, rounded */
  uint64_t step_bytes;   /* that all sizes are multiples of; 0: not all are */
  uint32_t *next_places; /* [n_slots] the slot to take when this one is taken, and so on
                            until all of them were tried and this one comes again */
  uint32_t *n_asked; /* [n_sections] slots that are requested: all but the spares, which
                          stand behind them */
  uint64_t *offsets; /* ascending, each once */
  uint32_t n_offsets;
  TesseraSignature *table; /* open addressing, a power of two */
  uint32_t table_mask;
  TesseraGram *grams; /* by hash, then slot */
  uint32_t n_grams;
} TesseraSlots;

/* TESSERA_INVALID: a slot outside its pool or section, sections that are not the slots in
 * order, unplanned requests out of order, nothing that @plan could be followed by. @plan
 * must outlive @slots. */
TESSERA_MUST_USE TesseraStatus tessera_slots_init (TesseraSlots *slots,
                                                   const TesseraPlan *plan);
void tessera_slots_clear (TesseraSlots *slots);

/* A size as the plan counts it: whole steps of its alignment, at least one; what is
 * beyond all counting becomes 0. */
uint64_t tessera_slots_round (const TesseraSlots *slots, uint64_t size_bytes);

/* The signature of a request, or TESSERA_NONE: the plan has no such slot. */
uint32_t tessera_slots_find_signature (const TesseraSlots *slots,
                                       uint64_t size_bytes,
                                       uint32_t stream,
                                       uint32_t pool);

/* How many requests the section has. */
static inline uint32_t
tessera_slots_n_requests (const TesseraSlots *slots, uint32_t section)
{
  return slots->first_requests[section + 1] - slots->first_requests[section];
}

/* The slot of a request, or TESSERA_NONE: it is unplanned. */
static inline uint32_t
tessera_slots_of_request (const TesseraSlots *slots, uint32_t request)
{
  return slots->have_slots[request] ? slots->next_slots[request] : TESSERA_NONE;
}

/*
 * tessera_slots_find_gram:
 * @signatures: (array fixed-size=TESSERA_GRAM_REQUESTS): the latest, oldest first
 * @cursor: the request at which the run was thought to be
 * @first: requests before it are past
 *
 * Returns: the last of these requests: the first one at or after @cursor where the plan
 *   asks for the same in a row, else the first one at or after @first, else TESSERA_NONE.
 */
uint32_t tessera_slots_find_gram (const TesseraSlots *slots,
                                  const uint32_t *signatures,
                                  uint32_t cursor,
                                  uint32_t first);

/* ---- Where in a planned sequence a run is ---- */

/* Where in a planned sequence of requests a run is, although the run leaves some out and
 * makes others that nobody planned.
 *
 * It is an edit distance, one row at a time: a cell says how many planned requests were
 * skipped plus how many unplanned ones came, if the run now stands at that place. A new
 * request moves the row on, the cheapest cell is the place. So one missing or extra
 * request costs one, and never shifts those that follow: after it the old diagonal is the
 * cheapest again. Example, planned A B C A B C, the run makes A C B C A B C: the first C
 * is taken for the planned one (one skipped), B then shows that it was extra.
 *
 * An unplanned request costs nothing where such are known to come (a step may make some
 * whose sizes follow no law), so that planned ones are told from those of equal size.
 *
 * As long as each request is the one expected, the row is the distance from the cursor
 * and need not be kept: one comparison a request. Otherwise 65 cells are worked out. */

enum
{
  TESSERA_ALIGN_REACH = 32, /* places looked at before and after the cursor */
  TESSERA_ALIGN_CELLS = 2 * TESSERA_ALIGN_REACH + 1
};

/* The signatures ahead: of the section the run is in, then of the one expected next. */
typedef struct
{
  const uint32_t *now;
  const uint32_t *next;
  uint32_t n_now;
  uint32_t n_next;
  const uint64_t *extras_now;  /* [n_now] before each place requests of up to so many */
  const uint64_t *extras_next; /* bytes come that nobody planned; NULL: nowhere */
} TesseraRoute;

typedef struct
{
  uint32_t signature;
  uint64_t block_bytes; /* UINT64_MAX: it is none of the extras that are known of */
} TesseraAlignRequest;

typedef struct
{
  int64_t cursor;                     /* planned requests behind us, on this route */
  int64_t base;                       /* place of cost[0] */
  uint32_t streak;                    /* requests in a row that were the expected one */
  bool is_sure;                       /* the row is the distance from the cursor */
  uint32_t cost[TESSERA_ALIGN_CELLS]; /* above the cheapest cell's; when not sure */
} TesseraAlign;

void tessera_align_reset (TesseraAlign *align, int64_t cursor);

/* The route now begins @n_places later than it did. */
void tessera_align_move (TesseraAlign *align, int64_t n_places);

typedef enum
{
  TESSERA_ALIGN_UNPLANNED,
  TESSERA_ALIGN_EXTRA, /* ... and known to come there */
  TESSERA_ALIGN_PLANNED
} TesseraAlignAnswer;

/* A request came. Returns: what it is, if planned which in *out_place. */
TesseraAlignAnswer tessera_align_request (TesseraAlign *align,
                                          const TesseraRoute *route,
                                          const TesseraAlignRequest *request,
                                          int64_t *out_place);

/* ---- Which step a run is doing ---- */

/* Of which kind the step is that a run is doing, where a plan has several, and which of
 * two layouts of it comes.
 *
 * Nobody tells the kind. When a step begins all kinds are possible; each request leaves
 * those that ask for the same there. The follower goes on with the kind that it took for
 * likely as long as that is possible, and passes to another one at the first request that
 * only that one has. When none is possible any more, the step differs from all: the
 * follower's alignment decides as it does for any other plan.
 *
 * Both layouts of a kind ask for the same, and no request tells one from the other. The
 * step before does: what it left has the places of its layout, so that the next one has
 * the other. A step that leaves nothing, and requests between two marks that are none,
 * change no turn. */

enum
{
  TESSERA_FOLLOW_KINDS = 64 /* of more, the first so many are told apart */
};

typedef struct
{
  const TesseraSlots *slots;
  uint32_t first; /* section of the first kind; the others come right behind it */
  uint32_t n_kinds;
  uint64_t possible;                      /* a bit each */
  uint32_t n_asked;                       /* requests since the step began */
  uint32_t n_taken;                       /* of these: that got a slot */
  uint32_t taken_in;                      /* ... the last one, in this section */
  uint64_t n_steps[TESSERA_FOLLOW_KINDS]; /* that turned out to be of the kind */
  uint32_t counted;                       /* the kind of this step so far, or NONE */
  uint32_t n_alternating;                 /* first kinds with a second layout; or 0 */
  uint64_t leaving; /* a bit for each that leaves blocks up to its next step */
  bool is_second;   /* of the step at hand: it has the second layout */
} TesseraFollowKinds;

void tessera_follow_kinds_init (TesseraFollowKinds *kinds, const TesseraSlots *slots);

/* Whether there are several, and the section is one of them. */
bool tessera_follow_kinds_has (const TesseraFollowKinds *kinds, uint32_t section);

/* A step begins: all kinds are possible, in the layout whose turn it is. */
void tessera_follow_kinds_begin (TesseraFollowKinds *kinds);

/* The section of the kind that came most often; of equals, and at first, the one with
 * most requests. */
uint32_t tessera_follow_kinds_likely (const TesseraFollowKinds *kinds);

/*
 * tessera_follow_kinds_see:
 * @phase: that the run says it is in: kinds that ask for it in another one are not meant;
 *   or TESSERA_NONE
 * @section: the one that the run is thought to be in
 *
 * A request came with this signature.
 *
 * Returns: a section that the run must be in instead, TESSERA_NONE: there is no such; its
 *   place of the request in *@out_place
 */
uint32_t tessera_follow_kinds_see (TesseraFollowKinds *kinds,
                                   uint32_t signature,
                                   uint32_t phase,
                                   uint32_t section,
                                   uint32_t *out_place);

/* A block of a slot of that section came. */
static inline void
tessera_follow_kinds_take (TesseraFollowKinds *kinds, uint32_t section)
{
  kinds->n_taken++;
  kinds->taken_in = section;
}

/* ---- Where a run is in its plan ---- */

/* Where a run is in its plan: which of the planned requests, if any, a request is.
 *
 * The run is aligned with the requests of the section it is in, those of slots and the
 * unplanned ones (above).
 * Steps and phases that it tells say where it should be; where it lost its way
 * altogether, say after an evaluation, the last requests are looked for in all sections.
 * Of several kinds of step its requests tell which it is (above). This knows nothing of
 * memory: whether a slot's place is free is another question. */

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
  uint32_t section; /* TESSERA_NONE: the plan has none */
  uint32_t next_section;
  uint32_t recent[TESSERA_GRAM_REQUESTS]; /* a ring: signatures of the last requests */
  uint64_t n_recent;                      /* ever */
  uint32_t optimizer_phase;               /* of the plan, or NONE */
  bool tells_phases;                      /* the run was in a phase of the plan */
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

/* Whether what was found last may be chance: the run is not sure of its place, and it is in
 * no phase though it tells phases. */
static inline bool
tessera_course_is_guess (const TesseraCourse *course)
{
  return course->tells_phases && course->phase == TESSERA_NONE && !course->align.is_sure;
}

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

/* ---- Another place for a request whose own is not free ---- */

/* Another place in the pool for a planned request whose own place is not free.
 *
 * A run that differs a little from its plan leaves blocks where others were meant to be.
 * Most of the pool is not needed at most moments: a place will do that is free now and
 * that no slot needs as long as this one was to live. It must be one where only requests
 * lie that PyTorch would serve from the same memory as this one (stream, pool, and where
 * several streams are at work small or large): no range passes between them here. Places
 * that slots take in turn are not lent.
 *
 * Of several such places the request gets the lowest, so that what lies elsewhere than
 * planned stays together. A block that was to live for more than 256 requests, or into the
 * next step, gets none: its request misses. */

/* A zone is what PyTorch would serve from the same memory: the same stream, pool, and
 * where several streams are at work the same of small and large. Between two offsets of a
 * plan there is one zone, or several, and then nothing there is lent. Made once from a
 * plan and not changed afterwards. */
typedef struct
{
  const TesseraSlots *slots;
  uint64_t *zones; /* [n_offsets] between this offset and the next */
  uint64_t *ends;  /* [n_offsets] where those of the same zone end: what is not lent is
                      passed over at once */
} TesseraReuse;

TESSERA_MUST_USE TesseraStatus tessera_reuse_init (TesseraReuse *reuse,
                                                   const TesseraSlots *slots);
void tessera_reuse_clear (TesseraReuse *reuse);

/*
 * tessera_reuse_take:
 * @slot: what is asked for; its own place is not free
 *
 * Takes such a place, if @hook takes it too. Returns: whether there is one; where in
 * *out_offset_bytes.
 */
bool tessera_reuse_take (const TesseraReuse *reuse,
                         const TesseraFollowerHook *hook,
                         uint32_t slot,
                         uint64_t *out_offset_bytes);
