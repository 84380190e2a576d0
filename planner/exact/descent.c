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
  uint32_t begin, end; /* sections */
  uint32_t parent;     /* frame to go back to, or NONE */
  uint32_t next;       /* part, or NONE */
} OpenPart;

typedef struct
{
  size_t n_trail;
  uint32_t item;
  uint32_t part;   /* the part that it is in, as it was opened */
  guint n_parts;   /* parts that were open */
  uint8_t n_asked; /* questions: at its floor? and if not? */
} Frame;

void
tessera_descent_init (TesseraDescent *descent)
{
  descent->frames = g_array_new (FALSE, FALSE, sizeof (Frame));
  descent->parts = g_array_new (FALSE, FALSE, sizeof (OpenPart));
}

void
tessera_descent_clear (TesseraDescent *descent)
{
  g_array_unref (descent->frames);
  g_array_unref (descent->parts);
}

static Frame *
frame_at (const TesseraDescent *descent, uint32_t frame)
{
  return &g_array_index (descent->frames, Frame, frame);
}

static OpenPart *
part_at (const TesseraDescent *descent, uint32_t part)
{
  return &g_array_index (descent->parts, OpenPart, part);
}

static uint32_t
open_part (TesseraDescent *descent, OpenPart part)
{
  g_array_append_val (descent->parts, part);
  return descent->parts->len - 1;
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

/* The item of the next decision. There is one: of those that wait, a lowest. */
static uint32_t
choose (const TesseraDescent *descent,
        TesseraValleyRule rule,
        uint32_t begin,
        uint32_t end)
{
  const uint64_t *level = descent->state->level;
  uint32_t best = NONE;
  uint64_t best_score = UINT64_MAX;
  descent->state->work += end - begin;
  for (uint32_t a = begin, b; a < end; a = b)
    {
      for (b = a + 1; b < end && level[b] == level[a];)
        b++;
      bool is_valley = level[a] != UINT64_MAX &&
                       (a == begin || level[a - 1] > level[a]) &&
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

/* Takes the part apart into parts that share no waiting item, before @next. Returns the
 * first of them, @next where nothing waits. */
static uint32_t
take_apart (TesseraDescent *descent, uint32_t part)
{
  const TesseraExactState *state = descent->state;
  const OpenPart whole = *part_at (descent, part);
  uint32_t first = whole.next;
  for (uint32_t s = whole.begin; s < whole.end;)
    {
      if (state->level[s] == UINT64_MAX)
        {
          s++;
          continue;
        }
      uint32_t end = s;
      while (state->across[end] > 0)
        end++;
      end++;
      first = open_part (descent, (OpenPart){ s, end, whole.parent, first });
      s = end;
    }
  return first;
}

static bool
may_go_on (TesseraDescent *descent)
{
  if (descent->state->work < descent->next_report)
    return true;
  descent->next_report += descent->work_budget / N_REPORTS + 1;
  if (descent->next_report < descent->state->work)
    descent->next_report = descent->state->work;
  double done = (double) descent->state->work / (double) descent->work_budget;
  return tessera_progress (descent->progress, done < 1 ? done : 1);
}

/* Goes back to a frame and asks what is left to ask. False: nothing, or all refused. */
static bool
decide (TesseraDescent *descent, uint32_t frame)
{
  TesseraExactState *state = descent->state;
  g_array_set_size (descent->frames, frame + 1);
  Frame *f = frame_at (descent, frame);
  g_array_set_size (descent->parts, f->n_parts);
  while (f->n_asked < 2)
    {
      tessera_exact_state_undo (state, f->n_trail);
      f->n_asked++;
      descent->n_decisions++;
      if (f->n_asked == 1 ? tessera_exact_state_place (state, f->item)
                          : tessera_exact_state_put_off (state, f->item))
        return true;
    }
  return false;
}

/* The frame of the next decision in @part. */
static uint32_t
enter (TesseraDescent *descent, TesseraValleyRule rule, uint32_t part)
{
  const OpenPart open = *part_at (descent, part);
  const Frame frame = { .part = part,
                        .n_parts = descent->parts->len,
                        .n_trail = descent->state->n_trail,
                        .item = choose (descent, rule, open.begin, open.end) };
  g_array_append_val (descent->frames, frame);
  return descent->frames->len - 1;
}

/* From @frame to the nearest with a question left; its answer stands. NONE: none. */
static uint32_t
decide_or_go_back (TesseraDescent *descent, uint32_t frame)
{
  while (frame != NONE && !decide (descent, frame))
    frame = part_at (descent, frame_at (descent, frame)->part)->parent;
  return frame;
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
  g_array_set_size (descent->parts, 0);
  uint32_t part =
      open_part (descent, (OpenPart){ 0, state->core->n_sections, NONE, NONE });
  while (descent->n_decisions < end && state->work < descent->work_budget)
    {
      part = take_apart (descent, part);
      if (part == NONE)
        {
          *out_answer = TESSERA_EXACT_FITS;
          return TESSERA_OK;
        }
      uint32_t frame = decide_or_go_back (descent, enter (descent, rule, part));
      if (frame == NONE)
        {
          *out_answer = TESSERA_EXACT_IMPOSSIBLE;
          break;
        }
      if (!may_go_on (descent))
        return TESSERA_CANCELLED;
      const OpenPart decided = *part_at (descent, frame_at (descent, frame)->part);
      part = open_part (descent,
                        (OpenPart){ decided.begin, decided.end, frame, decided.next });
    }
  tessera_exact_state_undo (state, n_trail);
  return TESSERA_OK;
}
