/*
 * Walks down the tree of decisions. See private.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/private.h"

#define NONE UINT32_MAX
#define N_REPORTS 16

typedef struct
{
  size_t n_trail;
  uint32_t item;
  uint8_t n_asked; /* questions: at its floor? and if not? */
} Frame;

void
tessera_descent_init (TesseraDescent *descent)
{
  descent->frames = g_array_new (FALSE, FALSE, sizeof (Frame));
}

void
tessera_descent_clear (TesseraDescent *descent)
{
  g_array_unref (descent->frames);
}

/* ---- decisions ---- */

/* Lower comes first. */
static uint64_t
score_of_valley (const TesseraExactState *state,
                 TesseraValleyRule rule,
                 uint32_t begin,
                 uint32_t end)
{
  uint64_t most_trouble = 0, highest_reach = 0;
  if (rule == TESSERA_VALLEY_LOWEST)
    return state->level[begin];
  if (rule == TESSERA_VALLEY_LEFTMOST)
    return begin;
  for (uint32_t s = begin; s < end; s++)
    {
      most_trouble = state->weights[s] > most_trouble ? state->weights[s] : most_trouble;
      highest_reach = state->reach[s] > highest_reach ? state->reach[s] : highest_reach;
    }
  return UINT64_MAX - (rule == TESSERA_VALLEY_TROUBLE ? most_trouble : highest_reach);
}

/* The item of lowest rank that lies whole in the valley and could lie at its bottom. */
static uint32_t
first_in_valley (const TesseraDescent *descent, uint32_t begin, uint32_t end)
{
  TesseraExactState *state = descent->state;
  const TesseraCore *core = state->core;
  uint64_t level = state->level[begin];
  uint32_t best = NONE;
  for (uint32_t s = begin; s < end; s++)
    {
      uint32_t members_end = core->members_begin[s + 1];
      state->work += members_end - core->members_begin[s];
      for (uint32_t k = core->members_begin[s]; k < members_end; k++)
        {
          uint32_t item = core->members[k];
          const TesseraCoreItem *it = &core->items[item];
          bool is_born = s == it->begin || (s == it->begin2 && it->begin2 < it->end2);
          if (is_born && !state->placed[item] && state->floors[item] == level &&
              (best == NONE || descent->ranks[item] < descent->ranks[best]) &&
              (it->begin2 == it->end2 || tessera_exact_state_is_lowest (state, item)))
            best = item;
        }
    }
  return best;
}

/* The item of the next decision: of those that wait, a lowest. NONE: nothing waits. */
static uint32_t
choose (const TesseraDescent *descent, TesseraValleyRule rule)
{
  const uint64_t *level = descent->state->level;
  const uint32_t end = descent->state->core->n_sections;
  uint32_t best = NONE;
  uint64_t best_score = UINT64_MAX;
  descent->state->work += end;
  for (uint32_t a = 0, b; a < end; a = b)
    {
      for (b = a + 1; b < end && level[b] == level[a];)
        b++;
      bool is_valley = level[a] != UINT64_MAX && (a == 0 || level[a - 1] > level[a]) &&
                       (b == end || level[b] > level[a]);
      if (!is_valley)
        continue;
      uint64_t score = score_of_valley (descent->state, rule, a, b);
      if (best != NONE && score >= best_score)
        continue;
      uint32_t item = first_in_valley (descent, a, b);
      if (item == NONE)
        continue;
      best = item;
      best_score = score;
    }
  return best;
}

static bool
may_go_on (TesseraDescent *descent)
{
  if (descent->state->work < descent->next_report)
    return true;
  descent->next_report = descent->state->work + descent->work_budget / N_REPORTS + 1;
  double done = (double) descent->state->work / (double) descent->work_budget;
  return tessera_progress (descent->progress, done < 1 ? done : 1);
}

/* Asks what is left to ask of the last decision. False: nothing, or all refused. */
static bool
decide (TesseraDescent *descent)
{
  TesseraExactState *state = descent->state;
  Frame *frame = &g_array_index (descent->frames, Frame, descent->frames->len - 1);
  while (frame->n_asked < 2)
    {
      tessera_exact_state_undo (state, frame->n_trail);
      frame->n_asked++;
      descent->n_decisions++;
      if (frame->n_asked == 1 ? tessera_exact_state_place (state, frame->item)
                              : tessera_exact_state_put_off (state, frame->item))
        return true;
    }
  return false;
}

/* Goes back to the last decision with a question left; its answer stands. False: none. */
static bool
decide_or_go_back (TesseraDescent *descent)
{
  while (descent->frames->len > 0 && !decide (descent))
    g_array_set_size (descent->frames, descent->frames->len - 1);
  return descent->frames->len > 0;
}

TesseraStatus
tessera_descent_walk (TesseraDescent *descent,
                      TesseraValleyRule rule,
                      uint64_t share,
                      TesseraExactAnswer *out_answer)
{
  TesseraExactState *state = descent->state;
  const size_t n_trail = state->n_trail;
  const uint64_t end = descent->n_decisions + share;
  *out_answer = TESSERA_EXACT_UNKNOWN;
  g_array_set_size (descent->frames, 0);
  while (descent->n_decisions < end && state->work < descent->work_budget)
    {
      const Frame frame = { .n_trail = state->n_trail, .item = choose (descent, rule) };
      if (frame.item == NONE)
        {
          *out_answer = TESSERA_EXACT_FITS;
          return TESSERA_OK;
        }
      g_array_append_val (descent->frames, frame);
      if (!decide_or_go_back (descent))
        {
          *out_answer = TESSERA_EXACT_IMPOSSIBLE;
          break;
        }
      if (!may_go_on (descent))
        return TESSERA_CANCELLED;
    }
  tessera_exact_state_undo (state, n_trail);
  return TESSERA_OK;
}
