/*
 * What a run tells of itself: the steps and phases that it enters, and where in its plan
 * it is by them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/course/private.h"

#include <stdlib.h>
#include <string.h>

enum
{
  /* A phase that begins so few slots ahead was reached with the last requests before it
     left out. */
  PHASE_REACH = 16,
  /* A phase far off is believed where one of its first requests comes first. */
  PHASE_FIRST = 8
};

static int
compare_names (const void *a, const void *b)
{
  const TesseraPhaseName *x = a;
  const TesseraPhaseName *y = b;

  return strcmp (x->name, y->name);
}

bool
tessera_course_sort_phases (TesseraCourse *course)
{
  const TesseraPlan *plan = course->plan;

  course->phases = calloc (plan->n_strings + 1, sizeof *course->phases);
  if (course->phases == NULL)
    return false;
  for (uint32_t i = 0; i < plan->n_strings; i++)
    course->phases[i] = (TesseraPhaseName){ plan->strings[i], i };
  qsort (course->phases, plan->n_strings, sizeof *course->phases, compare_names);
  return true;
}

/* A first step that a loss scaler skips ends before its optimizer has made what it keeps,
 * and a later step makes that: by requests of the start, which are owed until then.
 * @from: the first that the run has not made. */
static void
note_owed (TesseraCourse *course, uint32_t from)
{
  const TesseraSlots *slots = course->slots;
  uint32_t n = slots->first_requests[1], end;
  bool is_kept = false;

  while (from < n && (from == 0 || slots->phases[from] == slots->phases[from - 1]))
    from++;
  for (end = from; end < n && slots->phases[end] == slots->phases[from]; end++)
    {
      uint32_t slot = tessera_slots_of_request (slots, end);

      is_kept = is_kept ||
                (slot != TESSERA_NONE &&
                 course->plan->slots[slot].lifetime_class == TESSERA_CLASS_PERSISTENT);
    }
  if (!is_kept)
    return;
  course->owed_phase = slots->phases[from];
  course->owed_place = from;
  course->owed_end = end;
}

/* The start may hold steps of its own, since the first ones often differ, so a mark in it
 * need not be that of the steps which repeat. Near its end it may be: the last requests
 * may be left out. Then the next ones tell. */
static void
stay_in_start (TesseraCourse *course, uint32_t place)
{
  uint32_t n_now = n_requests_now (course);

  if (!course->is_at_mark)
    course->mark = cursor_now (course);
  course->is_at_mark = true;
  if (course->section == 0)
    note_owed (course, course->mark);
  if (course->next_section != TESSERA_NONE)
    tessera_align_hint (&course->align, (int64_t) n_now + place);
}

void
tessera_course_step (TesseraCourse *course, uint32_t place)
{
  const TesseraPlan *plan = course->plan;
  const TesseraSection *section;

  course->has_marks = true;
  if (course->section == TESSERA_NONE)
    return;
  course->next_section = tessera_course_expect_after (course, course->section);
  section = section_now (course);
  if (section->kind != TESSERA_SECTION_REPEATS &&
      course->align.cursor < n_requests_now (course))
    {
      stay_in_start (course, place);
      return;
    }
  if (course->kinds.n_kinds > 1)
    {
      tessera_course_enter (course, tessera_follow_kinds_likely (&course->kinds), 0);
      tessera_follow_kinds_begin (&course->kinds);
      course->mark = 0;
      course->is_at_mark = true;
      return;
    }
  for (uint32_t k = 0; k < plan->n_sections; k++)
    {
      uint32_t s = (course->section + k) % (uint32_t) plan->n_sections;

      if (plan->sections[s].kind == TESSERA_SECTION_REPEATS)
        {
          tessera_course_enter (course, s, place);
          course->mark = place;
          course->is_at_mark = true;
          return;
        }
    }
}

static bool
phase_begins_at (const TesseraCourse *course,
                 uint32_t section,
                 uint32_t place,
                 uint32_t phase)
{
  const uint32_t *phases =
      course->slots->phases + course->slots->first_requests[section] + place;

  return phases[0] == phase && (place == 0 || phases[-1] != phase);
}

/* Where the phase begins next, from @from on; n_places: nowhere. In a section that
 * repeats what lies before comes again. */
static uint32_t
find_phase (const TesseraCourse *course, uint32_t from, uint32_t phase)
{
  uint32_t n_places = n_requests_now (course);
  bool repeats = section_now (course)->kind == TESSERA_SECTION_REPEATS;

  for (uint32_t d = 0; d < n_places && (repeats || from + d < n_places); d++)
    if (phase_begins_at (course, course->section, (from + d) % n_places, phase))
      return (from + d) % n_places;
  return n_places;
}

/* A phase that the kind at hand lacks: where another kind has it first. */
static void
expect_other_kind (TesseraCourse *course, uint32_t phase)
{
  const TesseraFollowKinds *kinds = &course->kinds;

  if (!tessera_follow_kinds_has (kinds, course->section))
    return;
  for (uint32_t s = kinds->first; s < kinds->first + kinds->n_kinds; s++)
    for (uint32_t place = 0; place < tessera_slots_n_requests (course->slots, s); place++)
      if (phase_begins_at (course, s, place, phase))
        {
          course->far_phase = place;
          course->far_section = s;
          return;
        }
}

/* The run enters a phase of the plan, and the request at the cursor is of another. The
 * first one of a step is looked for from where the step began: what was asked for between
 * steps may have looked like any other part. */
static void
expect_phase (TesseraCourse *course, uint32_t phase)
{
  uint32_t n_places = n_requests_now (course);
  uint32_t cursor = cursor_now (course);
  bool is_lost = tessera_course_is_astray (course) || cursor >= n_places;
  uint32_t from = course->is_at_mark ? course->mark : cursor;
  bool repeats = section_now (course)->kind == TESSERA_SECTION_REPEATS;
  uint32_t place;

  if (from >= n_places && !repeats)
    return;
  place = find_phase (course, from % n_places, phase);
  if (place == n_places)
    {
      expect_other_kind (course, phase);
      return;
    }
  if (!is_lost && place >= cursor && place - cursor < PHASE_REACH)
    tessera_align_hint (&course->align, place);
  else
    {
      /* The run may also enter a phase without any requests: the next one tells. */
      course->far_phase = place;
      course->far_section = course->section;
    }
  course->astray = 0;
}

void
tessera_course_phase (TesseraCourse *course, const char *name)
{
  const TesseraPhaseName key = { .name = name };
  const TesseraPhaseName *found;
  uint32_t n_places, cursor;

  course->far_phase = course->phase = TESSERA_NONE;
  if (name == NULL || course->section == TESSERA_NONE)
    return;
  found =
      bsearch (&key, course->phases, course->plan->n_strings, sizeof key, compare_names);
  n_places = n_requests_now (course);
  if (found == NULL || n_places == 0)
    return;
  course->phase = found->phase;
  if (found->phase == course->owed_phase)
    {
      course->far_section = 0;
      course->far_phase = course->owed_place;
      course->is_at_mark = false;
      return;
    }
  cursor = cursor_now (course);
  if (cursor >= n_places || tessera_course_is_astray (course) ||
      course->slots->phases[first_request_now (course) + cursor] != found->phase)
    expect_phase (course, found->phase);
  course->is_at_mark = false;
}

void
tessera_course_go_to_phase (TesseraCourse *course, uint32_t signature)
{
  uint32_t section = course->far_section;
  uint32_t first = course->slots->first_requests[section];
  uint32_t place = course->far_phase;
  uint32_t n_places = tessera_slots_n_requests (course->slots, section);

  course->far_phase = TESSERA_NONE;
  for (uint32_t i = place; i < n_places && i < place + PHASE_FIRST; i++)
    if (course->slots->signatures[first + i] == signature)
      {
        tessera_course_enter (course, section, place);
        return;
      }
}
