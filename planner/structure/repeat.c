/*
 * Steps from repetition alone, for traces in which nothing is named.
 *
 * Only allocations count (size, stream, pool): frees that wait for another stream come in
 * another order every time. Candidates for the period are the distances at which windows
 * of allocations come again; a window that occurs once in a step comes again after
 * exactly a step, windows of repeated layers after a layer. Every candidate p is scored
 * by the stretch of allocations that best equals the one p earlier (a match counts 1, a
 * mismatch costs MISMATCH_COST); the whole step explains more than a layer does, because
 * between passes the layers' own rhythm breaks. The confidence is the share of
 * allocations, from the first repetition to the end of the trace, that equal the one a
 * period earlier. Cost: O(n log n), 16 candidates of O(n).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/structure/private.h"

#include <glib.h>
#include <math.h>

enum
{
  MAX_CANDIDATES = 16,
  MISMATCH_COST = 10
};

/* Below these a repetition is chance or a detail, not the training loop. */
#define LEAST_CONFIDENCE 0.9
#define LEAST_COVERAGE 0.6

/* Share of what periods allocate that may still be there at their end. */
#define MOST_KEPT 0.01

typedef struct
{
  uint64_t *tokens; /* one an allocation */
  uint32_t *events;
  size_t n_tokens;
  TesseraAction freed; /* the event that tells of a free; tables may have only one kind */
} Sequence;

typedef struct
{
  size_t period;
  uint64_t weight; /* windows that come again at this distance, times the distance */
} Candidate;

typedef struct
{
  size_t period, begin,
      end; /* tokens begin .. end equal those a period earlier, mostly */
  int64_t score;
  double confidence;
} Repetition;

static void
take_tokens (const TesseraTrace *trace, Sequence *sequence)
{
  sequence->tokens = g_new (uint64_t, trace->n_events + 1);
  sequence->events = g_new (uint32_t, trace->n_events + 1);
  sequence->n_tokens = 0;
  sequence->freed = TESSERA_FREE_COMPLETED;
  for (size_t i = 0; i < trace->n_events; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      if (event->action == TESSERA_FREE_REQUESTED)
        sequence->freed = TESSERA_FREE_REQUESTED;
      if (event->action != TESSERA_ALLOC)
        continue;
      sequence->events[sequence->n_tokens] = (uint32_t) i;
      sequence->tokens[sequence->n_tokens++] =
          tessera_mix (tessera_mix (TESSERA_FNV_BASIS, event->size_bytes),
                       ((uint64_t) event->stream << 16) | event->pool);
    }
}

static void
offer (Candidate *candidates, size_t period, uint64_t count)
{
  Candidate offered = { period, count * period };

  for (size_t i = 0; i < MAX_CANDIDATES; i++)
    if (offered.weight > candidates[i].weight)
      {
        Candidate displaced = candidates[i];

        candidates[i] = offered;
        offered = displaced;
      }
}

/* Counts, for each distance, the windows that equal one so far before and none between.
 * Returns: [n_tokens + 1] */
static uint32_t *
count_distances (const Sequence *sequence, size_t window)
{
  const uint64_t base = UINT64_C (0x9E3779B97F4A7C15);
  g_autoptr (GHashTable) last_of = g_hash_table_new (NULL, NULL); /* a window's end + 1 */
  uint32_t *counts = g_new0 (uint32_t, sequence->n_tokens + 1);
  uint64_t hash = 0, top = 1;

  for (size_t i = 0; i + 1 < window; i++)
    top *= base;
  for (size_t i = 0; i < sequence->n_tokens; i++)
    {
      size_t before;

      if (i >= window)
        hash -= sequence->tokens[i - window] * top;
      hash = hash * base + sequence->tokens[i];
      if (i + 1 < window)
        continue;
      before = GPOINTER_TO_SIZE (g_hash_table_lookup (last_of, GSIZE_TO_POINTER (hash)));
      if (before > 0)
        counts[i + 1 - before]++;
      g_hash_table_insert (last_of, GSIZE_TO_POINTER (hash), GSIZE_TO_POINTER (i + 1));
    }
  return counts;
}

/* Fills candidates (weight 0: none) with the weightiest distances of equal windows. */
static void
find_candidates (const Sequence *sequence,
                 size_t window,
                 Candidate candidates[MAX_CANDIDATES])
{
  g_autofree uint32_t *counts = count_distances (sequence, window);

  for (size_t i = 0; i < MAX_CANDIDATES; i++)
    candidates[i] = (Candidate){ 0 };
  for (size_t distance = 1; distance < sequence->n_tokens; distance++)
    if (counts[distance] > 0)
      offer (candidates, distance, counts[distance]);
}

/* The stretch of greatest score (Kadane), and the confidence from its begin on. */
static Repetition
score_period (const Sequence *sequence, size_t period)
{
  const uint64_t *tokens = sequence->tokens;
  Repetition best = { .period = period };
  size_t n_matches = 0, begin = period;
  int64_t score = 0;

  for (size_t i = period; i < sequence->n_tokens; i++)
    {
      score += tokens[i] == tokens[i - period] ? 1 : -MISMATCH_COST;
      if (score <= 0)
        {
          score = 0;
          begin = i + 1;
        }
      if (score > best.score)
        {
          best.score = score;
          best.begin = begin;
          best.end = i + 1;
        }
    }
  for (size_t i = best.begin; i < sequence->n_tokens && best.score; i++)
    n_matches += tokens[i] == tokens[i - period];
  if (best.score)
    best.confidence = (double) n_matches / (double) (sequence->n_tokens - best.begin);
  return best;
}

/* Whether the periods end with more than they began with. */
static bool
piles_up (const TesseraTrace *trace, const Sequence *sequence, const Repetition *found)
{
  size_t first = found->begin - found->period, n = (found->end - first) / found->period;
  size_t last = first + n * found->period - 1;
  uint32_t end = last + 1 < sequence->n_tokens ? sequence->events[last + 1]
                                               : (uint32_t) trace->n_events;
  double allocated = 0, freed = 0;

  for (uint32_t i = sequence->events[first]; i < end; i++)
    if (trace->events[i].action == TESSERA_ALLOC)
      allocated += (double) trace->events[i].size_bytes;
    else if (trace->events[i].action == sequence->freed)
      freed += (double) trace->events[i].size_bytes;
  return allocated - freed > MOST_KEPT * allocated;
}

static void
find_period (const TesseraTrace *trace,
             const Sequence *sequence,
             size_t window,
             Repetition *best)
{
  Candidate candidates[MAX_CANDIDATES];

  if (sequence->n_tokens < 2 * window)
    return;
  find_candidates (sequence, window, candidates);
  for (size_t i = 0; i < MAX_CANDIDATES && candidates[i].weight; i++)
    {
      Repetition found;
      double covered;

      if (candidates[i].period > sequence->n_tokens / 2)
        continue;
      found = score_period (sequence, candidates[i].period);
      covered = (double) (found.end - found.begin + found.period);
      if (found.end - found.begin >= found.period &&
          found.confidence >= LEAST_CONFIDENCE &&
          covered >= LEAST_COVERAGE * (double) sequence->n_tokens &&
          !piles_up (trace, sequence, &found) &&
          (found.score > best->score ||
           (found.score == best->score && found.period < best->period)))
        *best = found;
    }
}

/* Where a step begins: at the least load, since parameters stay and all else is gone
 * there. Offsets that would cost one of only two steps are left out. */
static size_t
find_cut (const TesseraTrace *trace, const Sequence *sequence, const Repetition *found)
{
  size_t first = found->begin - found->period, length = found->end - first;
  size_t n_offsets =
      length / found->period >= 3 ? found->period : length % found->period + 1;
  size_t cut = first, next = 0;
  double load = 0, least = HUGE_VAL; /* of any sizes a file may claim */

  for (size_t i = sequence->events[first]; i < trace->n_events && next < n_offsets; i++)
    {
      const TesseraEvent *event = &trace->events[i];

      if (event->action == TESSERA_ALLOC)
        {
          if (load < least)
            {
              least = load;
              cut = first + next;
            }
          next++;
          load += (double) event->size_bytes;
        }
      else if (event->action == sequence->freed)
        load -= (double) event->size_bytes;
    }
  return cut;
}

/* A phase of that name is one call of a model: what repeats in it are layers, no steps. */
static bool
is_in_forward (const TesseraTrace *trace, uint32_t begin_index, uint32_t end_index)
{
  for (size_t i = 0; i < trace->n_ranges; i++)
    {
      const TesseraRange *range = &trace->ranges[i];

      if (range->kind == TESSERA_RANGE_PHASE && range->begin_index <= begin_index &&
          range->end_index >= end_index &&
          g_str_has_suffix (tessera_trace_string (trace, range->name), "forward"))
        return true;
    }
  return false;
}

/* Steps one period after the other, from the least load on; none where these are fewer
 * than two. */
static void
set_steps (const TesseraTrace *trace,
           const Sequence *sequence,
           const Repetition *found,
           TesseraStructure *structure)
{
  size_t cut = find_cut (trace, sequence, found);
  size_t n_steps = (found->end - cut) / found->period;

  if (n_steps < 2 ||
      is_in_forward (trace, sequence->events[cut], sequence->events[cut + found->period]))
    return;
  g_free (structure->steps);
  structure->steps = g_new0 (TesseraStep, n_steps);
  for (size_t i = 0; i < n_steps; i++, cut += found->period)
    structure->steps[i] = (TesseraStep){
      .begin_index = sequence->events[cut],
      .end_index = cut + found->period < sequence->n_tokens
                       ? sequence->events[cut + found->period]
                       : (uint32_t) trace->n_events,
      .number = (int64_t) i,
    };
  structure->n_steps = n_steps;
  structure->steps_from = TESSERA_STEPS_REPETITION;
  structure->confidence = found->confidence;
}

void
tessera_find_repetition (const TesseraTrace *trace, TesseraStructure *structure)
{
  Sequence sequence = { 0 };
  Repetition found = { 0 };

  take_tokens (trace, &sequence);
  find_period (trace, &sequence, 32, &found);
  if (!found.score)
    find_period (trace, &sequence, 4, &found); /* a loop of few allocations */
  if (found.score)
    set_steps (trace, &sequence, &found, structure);
  g_free (sequence.tokens);
  g_free (sequence.events);
}
