/*
 * Whether a plan was made for the run that follows it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/policy/planned/judge.h"

enum
{
  /* Shorter stretches are judged with the next: fewer requests, or a smaller share of the
     pool asked for in less than so many steps. */
  LEAST_REQUESTS = 64,
  LEAST_SHARE = 8,
  ENOUGH_STEPS = 4,
  MISFIT_PERCENT = 10, /* of the bytes asked for */
  SETUP_PERCENT = 75,  /* ... before the first step */
  EARLY_PERCENT = 50,  /* ... of an unfinished stretch, from this share of the pool on */
  EARLY_SHARE = 2,
  MISFITS_AT_FIRST = 2,
  MISFITS_LATER = 8,
  MISFITS_UNMARKED = 4
};

/* @n_before: requests before the first step. The model is made there, and fits whatever
 * the batch. */
static void
init (TesseraJudge *judge, uint64_t n_before, uint64_t n_step, uint64_t height_bytes)
{
  *judge =
      (TesseraJudge){ .step_requests = n_step > LEAST_REQUESTS ? n_step : LEAST_REQUESTS,
                      .enough_bytes = height_bytes / LEAST_SHARE,
                      .early_bytes = UINT64_MAX };
  judge->window_requests = n_before + judge->step_requests;
}

void
tessera_judge_init (TesseraJudge *judge, const TesseraPlan *plan)
{
  uint64_t n_before = 0, n_step = 0;
  bool has_step = false;

  for (size_t i = 0; i < plan->n_sections; i++)
    if (plan->sections[i].kind != TESSERA_SECTION_REPEATS)
      n_before += has_step ? 0 : plan->sections[i].n_slots;
    else
      {
        uint64_t n_slots =
            plan->sections[i].n_slots / (plan->sections[i].is_paired ? 2 : 1);

        n_step = n_slots > n_step ? n_slots : n_step;
        has_step = true;
      }
  init (judge, n_before, has_step ? n_step : plan->n_slots, plan->height_bytes);
}

void
tessera_judge_init_lengths (TesseraJudge *judge,
                            const TesseraLengths *lengths,
                            uint64_t height_bytes)
{
  init (judge, lengths->n_start, lengths->n_slots, height_bytes);
}

static bool
misses_percent (const TesseraHitCount *count, uint64_t percent)
{
  return count->missed_bytes > count->asked_bytes / 100 * percent;
}

static void
add (TesseraHitCount *sum, const TesseraHitCount *count)
{
  sum->n_requests += count->n_requests;
  sum->n_misses += count->n_misses;
  sum->asked_bytes += count->asked_bytes;
  sum->missed_bytes += count->missed_bytes;
}

static bool
is_enough (const TesseraJudge *judge)
{
  return judge->now.n_requests >= LEAST_REQUESTS &&
         (judge->now.asked_bytes >= judge->enough_bytes ||
          judge->now.n_requests >= ENOUGH_STEPS * judge->step_requests);
}

/* The stretch under way ends. Returns: how many in a row misfit. */
static uint32_t
end_stretch (TesseraJudge *judge, uint64_t percent)
{
  if (misses_percent (&judge->now, percent))
    {
      judge->n_misfits++;
      add (&judge->misfit, &judge->now);
    }
  else
    {
      judge->n_misfits = 0;
      judge->misfit = (TesseraHitCount){ 0 };
    }
  judge->now = (TesseraHitCount){ 0 };
  return judge->n_misfits;
}

/* That a model is made as planned says nothing of the steps. */
static void
end_setup (TesseraJudge *judge)
{
  judge->has_marks = true;
  judge->window_requests = UINT64_MAX;
  judge->n_misfits = 0;
  judge->misfit = (TesseraHitCount){ 0 };
  if (is_enough (judge) && !judge->was_fit)
    end_stretch (judge, SETUP_PERCENT);
  judge->was_fit = false;
  judge->now = (TesseraHitCount){ 0 };
}

static bool
is_misfit (const TesseraJudge *judge)
{
  return judge->n_misfits >=
         (uint32_t) (judge->was_fit ? MISFITS_LATER : MISFITS_AT_FIRST);
}

/* The stretch that begins may be looked at early where it decides about a plan that never
 * fitted: the sooner it is declined, the less is held beside it. */
static void
begin_stretch (TesseraJudge *judge)
{
  judge->early_bytes = !judge->was_fit && judge->n_misfits + 1 >= MISFITS_AT_FIRST
                           ? judge->enough_bytes * LEAST_SHARE / EARLY_SHARE
                           : UINT64_MAX;
}

bool
tessera_judge_mark (TesseraJudge *judge)
{
  if (!judge->has_marks)
    end_setup (judge);
  else if (is_enough (judge) && end_stretch (judge, MISFIT_PERCENT) == 0)
    judge->was_fit = true;
  begin_stretch (judge);
  return is_misfit (judge);
}

bool
tessera_judge_doubts (const TesseraJudge *judge)
{
  return judge->n_misfits > 0 ||
         (misses_percent (&judge->now, MISFIT_PERCENT) &&
          judge->now.missed_bytes > judge->enough_bytes / 100 * MISFIT_PERCENT);
}

static bool
look_early (TesseraJudge *judge)
{
  if (!is_enough (judge))
    return false;
  judge->early_bytes *= 2;
  if (!misses_percent (&judge->now, EARLY_PERCENT))
    return false;
  end_stretch (judge, EARLY_PERCENT);
  return is_misfit (judge);
}

bool
tessera_judge_look (TesseraJudge *judge)
{
  if (judge->has_marks)
    return look_early (judge);
  judge->window_requests = judge->step_requests;
  if (end_stretch (judge, MISFIT_PERCENT) == 0)
    judge->was_fit = true;
  return !judge->was_fit && judge->n_misfits >= MISFITS_UNMARKED;
}
