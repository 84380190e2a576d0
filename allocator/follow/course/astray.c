/*
 * A run that lost its way in its plan: when it has, and where it is by its last requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/course/private.h"

enum
{
  /* A miss counts up, a hit down: with as many the place is looked for anew. */
  ASTRAY_LIMIT = 8,
  ASTRAY_LIMIT_DYNAMIC = 64 /* ... where some requests are of no size that is known */
};

bool
tessera_course_is_astray (const TesseraCourse *course)
{
  return course->astray >=
         (uint32_t) (course->extras != NULL ? ASTRAY_LIMIT_DYNAMIC : ASTRAY_LIMIT);
}

/* The first request that may still come: once steps repeat, the start does not come
 * again, however like it an evaluation looks. */
static uint32_t
first_ahead (const TesseraCourse *course)
{
  uint32_t section = course->section;

  if (tessera_follow_kinds_has (&course->kinds, section))
    section = course->kinds.first;
  return course->plan->sections[section].kind == TESSERA_SECTION_REPEATS
             ? course->slots->first_requests[section]
             : 0;
}

/* Requests of one layer are like those of every other where some are of no size that is
 * known: the nearest of such rows it is, in the phase and step that the run tells. */
static uint32_t
look_for (const TesseraCourse *course, const uint32_t *recent, uint32_t cursor)
{
  const TesseraSlots *slots = course->slots;
  TesseraGramRange range = { .first = first_ahead (course),
                             .end = slots->n_requests,
                             .phase = course->phase };

  if (course->extras == NULL)
    return tessera_slots_find_gram (slots, recent, cursor, range.first);
  if (course->has_marks && course->kinds.n_kinds <= 1)
    {
      range.first = first_request_now (course);
      range.end = range.first + n_requests_now (course);
    }
  return tessera_slots_find_gram_near (slots, recent, cursor, &range);
}

uint32_t
tessera_course_find_again (TesseraCourse *course)
{
  const TesseraSlots *slots = course->slots;
  int64_t cursor = course->align.cursor + first_request_now (course);
  uint32_t recent[TESSERA_GRAM_REQUESTS]; /* oldest first */
  uint32_t last;
  uint32_t s = 0;

  if (course->n_recent < TESSERA_GRAM_REQUESTS)
    return TESSERA_NONE;
  for (uint32_t i = 0; i < TESSERA_GRAM_REQUESTS; i++)
    recent[i] = course->recent[(course->n_recent + i) % TESSERA_GRAM_REQUESTS];
  last = look_for (course, recent, cursor > 0 ? (uint32_t) cursor : 0);
  if (last == TESSERA_NONE)
    return TESSERA_NONE;
  while (last >= slots->first_requests[s + 1])
    s++;
  tessera_course_enter (course, s, last - slots->first_requests[s] + 1);
  return last;
}
