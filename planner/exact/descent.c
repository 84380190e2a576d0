/*
 * One walk down the tree of decisions. See descent.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/exact/descent.h"

#include <stdlib.h>
#include <string.h>

#define NONE TESSERA_CORE_NONE
#define FIRST_CAPACITY 256
#define N_REPORTS 16

TesseraStatus
tessera_descent_init (TesseraDescent *descent)
{
  descent->frames = calloc (FIRST_CAPACITY, sizeof *descent->frames);
  descent->parts = calloc (FIRST_CAPACITY, sizeof *descent->parts);
  descent->frames_capacity = descent->parts_capacity = FIRST_CAPACITY;
  if (descent->frames != NULL && descent->parts != NULL)
    return TESSERA_OK;
  tessera_descent_clear (descent);
  return TESSERA_NO_MEMORY;
}

void
tessera_descent_clear (TesseraDescent *descent)
{
  free (descent->frames);
  free (descent->parts);
  descent->frames = NULL;
  descent->parts = NULL;
}

/* Room for one more of @size bytes each; NULL: no memory, and *list stays. */
static void *
grown (void *list, uint32_t n_used, uint32_t *capacity, size_t size)
{
  if (n_used < *capacity)
    return list;
  if (*capacity > UINT32_MAX / 4)
    return NULL;
  void *larger = realloc (list, (size_t) *capacity * 2 * size);
  if (larger != NULL)
    *capacity *= 2;
  return larger;
}

/* Returns: the part opened, or NONE where memory is short. */
static uint32_t
open_part (TesseraDescent *descent, TesseraOpenPart part)
{
  TesseraOpenPart *parts =
      grown (descent->parts, descent->n_parts, &descent->parts_capacity, sizeof *parts);
  if (parts == NULL)
    return NONE;
  descent->parts = parts;
  parts[descent->n_parts] = part;
  return descent->n_parts++;
}

static uint32_t
open_frame (TesseraDescent *descent, TesseraFrame frame)
{
  TesseraFrame *frames = grown (descent->frames, descent->n_frames,
                                &descent->frames_capacity, sizeof *frames);
  if (frames == NULL)
    return NONE;
  descent->frames = frames;
  frames[descent->n_frames] = frame;
  return descent->n_frames++;
}

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
take_apart (TesseraDescent *descent, uint32_t part, bool *no_memory)
{
  const TesseraExactState *state = descent->state;
  TesseraOpenPart whole = descent->parts[part];
  uint32_t first = whole.next;
  for (uint32_t s = whole.begin; s < whole.end && !*no_memory;)
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
      first = open_part (descent, (TesseraOpenPart){ s, end, whole.parent, first });
      *no_memory = first == NONE;
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
  TesseraFrame *f = &descent->frames[frame];
  TesseraExactState *state = descent->state;
  descent->n_frames = frame + 1;
  descent->n_parts = f->n_parts;
  while (f->n_asked < 2 && !state->no_memory)
    {
      tessera_exact_state_undo (state, f->n_trail);
      f->n_asked++;
      if (f->n_asked == 1 && tessera_exact_state_is_dominated (state, f->item))
        continue;
      descent->n_decisions++;
      if (f->n_asked == 1 ? tessera_exact_state_place (state, f->item)
                          : tessera_exact_state_put_off (state, f->item))
        return true;
    }
  return false;
}

/* The frame of the next decision in @part; the one to go back to where its state is known
 * to lead nowhere. */
static uint32_t
enter (TesseraDescent *descent, TesseraValleyRule rule, uint32_t part, bool *no_memory)
{
  TesseraOpenPart open = descent->parts[part];
  TesseraFrame frame = { .part = part,
                         .n_parts = descent->n_parts,
                         .n_trail = descent->state->n_trail };
  if (descent->memo != NULL)
    {
      frame.key = tessera_memo_key (descent->state, open.begin, open.end);
      if (tessera_memo_holds (descent->memo, frame.key))
        return open.parent;
    }
  frame.item = choose (descent, rule, open.begin, open.end);
  uint32_t entered = open_frame (descent, frame);
  *no_memory = entered == NONE;
  return entered;
}

/* From @frame to the nearest with a question left; its answer stands. NONE: none. */
static uint32_t
decide_or_go_back (TesseraDescent *descent, uint32_t frame)
{
  while (frame != NONE && !decide (descent, frame) && !descent->state->no_memory)
    {
      if (descent->memo != NULL)
        tessera_memo_add (descent->memo, descent->frames[frame].key);
      frame = descent->parts[descent->frames[frame].part].parent;
    }
  return frame;
}

TesseraStatus
tessera_descent_walk (TesseraDescent *descent,
                      TesseraValleyRule rule,
                      uint64_t share,
                      TesseraExactAnswer *out_answer)
{
  TesseraExactState *state = descent->state;
  size_t n_trail = state->n_trail;
  uint64_t end = descent->n_decisions + share;
  bool no_memory = false;
  *out_answer = TESSERA_EXACT_UNKNOWN;
  descent->n_frames = descent->n_parts = 0;
  uint32_t part =
      open_part (descent, (TesseraOpenPart){ 0, state->core->n_sections, NONE, NONE });
  while (descent->n_decisions < end && state->work < descent->work_budget)
    {
      part = take_apart (descent, part, &no_memory);
      if (part == NONE && !no_memory)
        {
          *out_answer = TESSERA_EXACT_FITS;
          return TESSERA_OK;
        }
      uint32_t frame = no_memory ? NONE : enter (descent, rule, part, &no_memory);
      if (no_memory)
        return TESSERA_NO_MEMORY;
      frame = decide_or_go_back (descent, frame);
      if (state->no_memory)
        return TESSERA_NO_MEMORY;
      if (frame == NONE)
        {
          *out_answer = TESSERA_EXACT_IMPOSSIBLE;
          break;
        }
      if (!may_go_on (descent))
        return TESSERA_CANCELLED;
      TesseraOpenPart decided = descent->parts[descent->frames[frame].part];
      part = open_part (
          descent, (TesseraOpenPart){ decided.begin, decided.end, frame, decided.next });
      if (part == NONE)
        return TESSERA_NO_MEMORY;
    }
  tessera_exact_state_undo (state, n_trail);
  return TESSERA_OK;
}
