/*
 * A followed plan's pool beside what the plan does not serve: pages of the pool get their
 * memory when they are used first; those that nobody needs at the moment are given back
 * before more is reserved than ever was, and come back when somebody asks for them.
 *
 * A run that differs from its plan needs memory beside the pool just when some of the
 * pool lies idle: paid twice. What both hold together is let grow up to the whole pool,
 * and from then on only where no page of the pool is idle, nor any beside it. So however
 * badly a plan suits, a run holds what its blocks take, in pages, and not that and a
 * pool. While the judge doubts the plan (allocator/policy/planned/judge.h) there is no
 * such allowance: a run that needs half of the pool holds half of it. A run that suits
 * never waits for what it would fill in the same step.
 *
 * Giving back waits for the device, so it happens where the most that was ever held would
 * rise, and nowhere else. Pages go that the plan needs latest (Belady's rule, as in
 * allocator/follow/places/outlook.h), and some more with them that it does not need for
 * long, so that the next ones need not wait. Example: a pool of 4 GiB, 80 MiB that missed
 * and stay beside it: in the course of a step the 80 MiB of the pool that are needed
 * latest lie elsewhere a few times. What comes back nobody used yet.
 *
 * A run earns its waits by the requests that it makes, one with each 64; what it has not
 * earned it does without, and the most that was held rises. So no run waits often,
 * whatever it does. Where waits follow one another faster than they are earned, more
 * pages go with each, needed soon or not, so that what was earned lasts: fetching a page
 * back costs no wait.
 *
 * Where the device refuses what was to be reserved beside the pool, others have what was
 * given back for it. So no page goes for as much again in that step: it may lie in the
 * pool (allocator/policy/planned/planned.h), and only if not even that helps pages go.
 *
 * Not thread-safe.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy/pages/pages.h"
#include "allocator/policy/pages/refusal.h"
#include "allocator/policy/planned/judge.h"

/* Who knows when pages of the pool are needed next: @forecast sets @needs (array
 * length=n_pages) to the number of requests up to then, UINT32_MAX: not in sight. */
typedef struct
{
  void (*forecast) (void *user, uint64_t page_bytes, uint32_t n_pages, uint32_t *needs);
  void *user;
} TesseraForecast;

typedef struct
{
  TesseraPages *pages;
  TesseraGuard *guard;
  TesseraCaching *beside; /* serves what the plan does not */
  const TesseraJudge *judge;
  TesseraRefusal *refusal;
  TesseraForecast forecast;
  uint64_t limit_bytes;      /* for both together; 0: none */
  uint64_t large_page_bytes; /* of what lies beside the pool */
  uint64_t most_bytes;       /* that both held together so far */
  uint64_t refused_bytes;    /* beside the pool, at least, in this step; 0: none */
  uint32_t far_requests;     /* needed no sooner is needed late */
  uint64_t n_requests;       /* of the run so far; the caller counts */
  uint64_t n_spent;          /* of them, for waiting */
  uint64_t last_wait;        /* n_requests at the last wait */
  uint32_t hurry;            /* pages that go with a wait double with each */
  uint64_t used_bytes;       /* beside the pool, at most, in this step */
  uint32_t *needs;           /* [n_pages] */
  uint64_t *idle;            /* [n_pages] need and number of idle pages */
  uint32_t n_pages;
  bool has_risen; /* most_bytes, since tessera_lending_step gave something back */
  bool is_off;    /* nothing may be given back now */
  bool is_over;   /* the plan is not followed any more */
} TesseraLending;

/*
 * tessera_lending_init:
 * @lending: pages, guard, beside, judge, refusal, limit_bytes, large_page_bytes and
 * far_requests are set
 *
 * Returns: TESSERA_OK or TESSERA_NO_MEMORY, with nothing to clear
 */
TESSERA_MUST_USE TesseraStatus tessera_lending_init (TesseraLending *lending,
                                                     const TesseraForecast *forecast);
void tessera_lending_clear (TesseraLending *lending);

/* Nobody needs the pool for the plan any more: all that is idle may go, and what lies
 * beside the pool still does before more is held than ever was. */
void tessera_lending_end (TesseraLending *lending);

/* So many bytes are about to be reserved beside the pool. */
void tessera_lending_make_room (TesseraLending *lending, uint64_t n_bytes);

/* The device did not have them. */
void tessera_lending_see_refused (TesseraLending *lending, uint64_t n_bytes);

/* After each request: what is held now may be held again. What was only asked for may
 * not. */
void tessera_lending_see_held (TesseraLending *lending);

/* A step begins. What was cached beside the pool and not used through the whole of the
 * last one goes back, if it is worth a wait: an evaluation that comes once leaves nothing
 * there. It does so once for each time that the most rose, so that a run whose steps
 * differ need not map the same memory again and again. */
void tessera_lending_step (TesseraLending *lending);

/* Gives back so many bytes of idle pages, and more that are needed late; less where fewer
 * are idle. A page that was only promised is given back by breaking the promise. Returns:
 * bytes given back. */
uint64_t tessera_lending_give_back (TesseraLending *lending, uint64_t n_bytes);

/* Memory for all that is still promised, if the device has it. */
void tessera_lending_fulfil (TesseraLending *lending);

/* Sees to it that the range of the pool has memory, unless somebody uses a part of it.
 * Returns: whether it has, and a part of it had none. */
bool tessera_lending_bring_back (TesseraLending *lending,
                                 uint64_t begin_bytes,
                                 uint64_t end_bytes);
