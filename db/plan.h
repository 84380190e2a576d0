/*
 * A plan in memory: where each request of a training run is to lie in one pool.
 *
 * A plan is a list of sections in the order in which a run passes through them: the
 * start, the step that repeats, the end. A section holds slots in the order of their
 * requests. All sections share one pool of @height_bytes: a slot's place is free in every
 * moment in which a run that does the same can need it.
 *
 * Time of a plan: positions 0 .. n_positions, the events of one canonical run: start, ONE
 * repeating step, end (of a plan without a repeating step: the events of the trace). A
 * slot is alive over [born, died). A slot of the repeating step that lives past the
 * step's end wraps: from the second step on, the block of the step before is alive over
 * [step begin, died_next) as well. What the last step leaves behind lives into the end
 * section: then died > step end. Slots without end live to n_positions.
 *
 * Identity of a request: its stream, its block_bytes, the stretch it comes in and its
 * ordinal among the requests of that stretch that are equal in stream and block_bytes. A
 * stretch is a longest run of consecutive requests and frees in the same step and the
 * same innermost phase.
 *
 * Rotations: a block may outlive the birth of the next step's block in its place
 * (died_next > born). Then its slot takes turns with all slots of the repeating section
 * that wrap with died_next >= born and are equal in stream, pool and block_bytes: they
 * are a rotation. Each of its places is reserved over the whole step and up to the one
 * end (died) that its slots have in common, and a request that finds its own taken gets
 * any that is free. There is one at every moment, whoever lies where: a rotation has as
 * many slots as blocks are ever alive together.
 *
 * Two kinds of slots are no request's own (ordinal TESSERA_NONE): blocks alive before the
 * first event (born 0), and spares, last of the repeating section: the places that a
 * rotation needs beyond those of its requests (wraps, died_next >= born).
 * A block of the start that lives on into the first repeating step shares the range of
 * the wrapping slot that ends at the same request: its own slot then ends where the step
 * begins, the other's second interval stands for the rest.
 *
 * Several kinds of step: one section each that repeats, one behind the other in
 * positions; a run passes through them in any order. A slot of one kind that wraps holds
 * its place in steps of the other kinds too: as a crossing says, else over the whole of
 * each. Then died is its section's end, or a position of the end section. What of the
 * start lives longer is held over all kinds (died: not before the end of the last),
 * unless a wrapping slot at the same place stands for the rest. Slots of several kinds
 * may share a place when the one is gone wherever the other is born. A rotation is of all
 * kinds: each in which one of its requests is made has all of its places, some as spares;
 * they are reserved all the time.
 *
 * Kinds that alternate: where such a block is large, each kind may have two layouts, in
 * sections of their own: all first ones, then all second ones in the same order, which
 * ask for the same. Steps take the first and the second in turn, and one that leaves no
 * block that outlives the birth of its successor leaves the turn as it was. A slot of
 * such a block wraps with died_next where its section begins, and crosses all of its
 * layout so: a step finds what the other layout left, and nothing of its own.
 *
 * Dynamic requests: steps may also make requests that have no slot, since each step asks
 * for other sizes there. Rooms say where they can go: a room belongs to what comes before
 * the request of one slot and after that before it, and is a range that no slot needs
 * from then on until the last such block has gone. Above all slots may lie regions, one
 * of each stream and size class, that nobody else needs. The pool ends with the last of
 * them.
 *
 * Unplanned requests: a person may leave a request to the dynamic allocator, and steps
 * may keep for good what it gives (planner/fold.h). It has no slot and no address, but it
 * is known like a slot's: by its identity, between the requests of two slots. So who
 * follows the plan knows which of several equal requests is to miss, and counts that as
 * planned.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/lengths.h"
#include "db/status.h"
#include "db/trace.h"

typedef enum
{
  TESSERA_CLASS_PERSISTENT = 1, /* outlives steps */
  TESSERA_CLASS_SCOPED,         /* born in one phase, dies in another */
  TESSERA_CLASS_TRANSIENT,      /* inside one phase */
  TESSERA_CLASS_DYNAMIC         /* size or presence differs between steps */
} TesseraClass;

typedef enum
{
  TESSERA_FOLLOWABLE_NO,           /* e.g. a trace without order of requests */
  TESSERA_FOLLOWABLE_SAME_BATCHES, /* only by a run that asks for the same things */
  TESSERA_FOLLOWABLE_YES           /* a step repeats and was planned as such */
} TesseraFollowable;

typedef struct
{
  uint64_t size_bytes;  /* as asked for, in the trace the plan was made from */
  uint64_t block_bytes; /* rounded up to the alignment: what the slot takes */
  uint64_t offset_bytes;
  uint32_t born;      /* position of its request */
  uint32_t died;      /* position of its end; > born, <= n_positions */
  uint32_t died_next; /* wraps: position inside the repeating step at which the block of
                         the step before ends; else 0. With it, died >= the step's end.
                         Beyond born: see rotations */
  uint32_t section;
  uint32_t phase;   /* innermost: string id into the plan's strings, or TESSERA_NONE */
  uint32_t ordinal; /* 0, 1 ... in its stretch, or TESSERA_NONE: see above */
  uint32_t group;   /* index into groups, or TESSERA_NONE */
  uint32_t block;   /* of the trace the plan was made from: its index in planner order */
  uint16_t stream;  /* by first use */
  uint16_t pool;
  uint8_t lifetime_class; /* TesseraClass */
  uint8_t wraps;
} TesseraSlot;

typedef enum
{
  TESSERA_SECTION_ONCE,
  TESSERA_SECTION_REPEATS
} TesseraSectionKind;

/* Whether steps of a kind take two layouts in turn. */
typedef enum
{
  TESSERA_ALTERNATE_NOT,
  TESSERA_ALTERNATE_FIRST,
  TESSERA_ALTERNATE_SECOND
} TesseraAlternate;

typedef struct
{
  uint32_t begin; /* positions */
  uint32_t end;
  uint32_t first_slot;
  uint32_t n_slots;
  uint8_t kind;      /* TesseraSectionKind */
  uint32_t n_steps;  /* of the trace that it stands for; 0: not told */
  uint8_t alternate; /* TesseraAlternate: see above */
} TesseraSection;

/* Where the block of a slot that wraps ends in a step of another kind. */
typedef struct
{
  uint32_t slot;
  uint32_t section; /* that repeats; not the slot's own */
  uint32_t died;    /* position inside it: begin < died <= end; the end: it goes on */
} TesseraCrossing;

/* Space for the dynamic requests of one place in a section. */
typedef struct
{
  uint64_t begin_bytes; /* the range; empty where slots leave nothing free */
  uint64_t end_bytes;
  uint64_t most_bytes; /* largest block seen */
  uint64_t sum_bytes;  /* of all blocks asked for here, the most of any step */
  uint32_t section;
  uint32_t before;     /* the slot whose request comes next; first_slot + n_slots of the
                          section: none does */
  uint32_t born;       /* position from which on it is free of slots */
  uint32_t died;       /* ... and up to which */
  uint32_t died_next;  /* in a section that repeats, where blocks live on into the next
                          step: ... up to which position of it; else 0 */
  uint32_t n_requests; /* the most of any step */
  uint16_t stream;     /* by first use */
  uint8_t is_small;    /* blocks of up to 1 MiB, else larger ones */
} TesseraRoom;

/* Space above all slots for dynamic requests of one stream and size class. */
typedef struct
{
  uint64_t begin_bytes;
  uint64_t end_bytes;
  uint16_t stream;
  uint8_t is_small;
} TesseraRegion;

/* A request of the canonical run that gets no place, on purpose. */
typedef struct
{
  uint64_t size_bytes;  /* as asked for, in the trace the plan was made from */
  uint64_t block_bytes; /* rounded up to the alignment */
  uint32_t section;
  uint32_t before;  /* the slot whose request comes next; where none does, one past the
                       last of the section that is asked for */
  uint32_t born;    /* position of its request */
  uint32_t phase;   /* as a slot's */
  uint32_t ordinal; /* as a slot's: they are counted together */
  uint32_t block;   /* of the trace the plan was made from, or TESSERA_NONE */
  uint16_t stream;
  uint16_t pool;
} TesseraUnplanned;

typedef enum
{
  TESSERA_GROUP_PERSISTENT,
  TESSERA_GROUP_HOMO_PHASE,
  TESSERA_GROUP_HOMO_SIZE,
  TESSERA_GROUP_HOMO_LAYER,
  TESSERA_GROUP_HAND
} TesseraGroupKind;

/* Blocks that belong together; the reason is one a person can read. */
typedef struct
{
  char *name; /* e.g. "forward -> backward, step 1" */
  uint8_t kind;
  uint8_t lifetime_class;
  uint32_t n_blocks;
  uint64_t height_bytes;      /* of its local layout */
  uint64_t bytes_x_events;    /* sum of size * lifetime */
  double time_memory_product; /* used / reserved area of the local layout, 0..1 */
} TesseraGroup;

/* A change that a person made, as it was when the plan was: edits/edits.h reads it. */
typedef struct
{
  char *name;
  char *rule; /* one JSON object (docs/FORMAT.md) */
} TesseraPlanEdit;

typedef struct
{
  TesseraSlot *slots; /* by section, then born */
  size_t n_slots;
  TesseraUnplanned *unplanned; /* in the order of their requests */
  size_t n_unplanned;
  TesseraSection *sections;
  size_t n_sections;
  TesseraCrossing *crossings; /* by slot, then section */
  size_t n_crossings;
  TesseraRoom *rooms; /* by section, before, stream, is_small: each once */
  size_t n_rooms;
  TesseraRegion *regions; /* from height_bytes up, without gaps */
  size_t n_regions;
  TesseraGroup *groups;
  size_t n_groups;
  TesseraPlanEdit *edits; /* those that stood, in the order in which they were applied */
  size_t n_edits;
  uint32_t n_positions;
  char **strings; /* phase names */
  size_t n_strings;

  uint64_t height_bytes;
  uint64_t bound_bytes;        /* load bound of the canonical run */
  uint64_t proven_bound_bytes; /* no layout of these slots is lower, with apart what the
                                  plan keeps apart; 0: not looked for */
  uint32_t alignment_bytes;
  uint64_t trace_fingerprint;
  uint64_t slot_digest; /* of all slots' places: equal plans have equal digests */
  uint32_t device;      /* of those of its trace; TESSERA_NONE: that has one */
  uint32_t n_streams;
  uint8_t followable;      /* TesseraFollowable */
  uint8_t crosses_streams; /* slots of different streams share addresses; a block ends
                              where its free is requested */
  uint8_t checked;         /* the checker accepted it */
  uint8_t cut_short;       /* by a person who wanted the best so far, which depends on how
                              fast the machine was: planning again gives another */
  uint64_t work_budget;    /* units that were asked for; 0: default */
  char *follow_reason;     /* one sentence */
  char *strategy;          /* e.g. "free: skyline by longest life" */
  char *source;            /* the trace's source */

  /* The run that the trace was of. */
  uint32_t world; /* processes; 0: not told */
  uint32_t rank;
  uint64_t device_bytes; /* memory of its device; 0: not told */
  char *torch;           /* version of PyTorch; NULL: not told */

  TesseraLengths *lengths; /* where steps vary: the same for every length; or NULL */
} TesseraPlan;

TESSERA_MUST_USE TesseraStatus tessera_plan_new (TesseraPlan **out_plan);
void tessera_plan_free (TesseraPlan *plan); /* NULL is fine */

/* What a run takes for the plan: height_bytes and the regions. */
uint64_t tessera_plan_pool_bytes (const TesseraPlan *plan);

/* FNV-1a over (section, ordinal order, block_bytes, offset, born, died, stream) of all
 * slots, and of all crossings, rooms, regions and unplanned requests; and of whether
 * streams share addresses, where they do. */
uint64_t tessera_plan_digest (const TesseraPlan *plan);

/* What is proven about a plan's height.
 *
 * "Optimal" is said of a plan only where no layout of its slots is lower, which is the
 * case where its height is a bound that holds for all of them: the load bound, the sum of
 * loads that are kept apart, or what the exact search found nothing below
 * (planner/exact.h). It is so of what the plan is held to as well: its streams kept apart
 * or not, its edits. */

/* The highest bound that is proven, bytes; never below bound_bytes. */
uint64_t tessera_plan_proven_bound (const TesseraPlan *plan);

/* The one bound that is shown: what is proven for @plan, but where edits may force it,
 * where it is for every length (the proof is of the recorded ones), or where PyTorch does
 * with a smaller device (@pytorch_bytes; 0: not known), since a plan may be held to more
 * than a layout is; never below @load_bound_bytes, what is alive at most, or, of a plan
 * across streams, where frees end blocks, what it has alive. @plan: (nullable) */
uint64_t tessera_plan_shown_bound (const TesseraPlan *plan,
                                   uint64_t load_bound_bytes,
                                   uint64_t pytorch_bytes);

/* false: not known. */
bool tessera_plan_is_optimal (const TesseraPlan *plan);

/* How far the height is above what is proven: 0.01 is one percent. */
double tessera_plan_gap (const TesseraPlan *plan);

/* "optimal (proven)" or "within 1.25 % of the proven bound", what edits make of it:
 * "optimal with its edits (proven), 85.16 GiB above the load bound", and how the plan was
 * cut short where it was: "...; cut short after 2 s" */
void tessera_plan_describe_proof (const TesseraPlan *plan, char *text, size_t n_text);
