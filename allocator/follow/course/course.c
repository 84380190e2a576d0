/*
 * Where a run is in its plan.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/course/course.h"

#include <stdlib.h>

#include "allocator/follow/course/private.h"

enum
{
  ASTRAY_MISS = 2 /* counts up so much, a hit down by one */
};

uint32_t
tessera_course_expect_after (const TesseraCourse *course, uint32_t section)
{
  const TesseraPlan *plan = course->plan;
  bool repeats = plan->sections[section].kind == TESSERA_SECTION_REPEATS;

  if (tessera_follow_kinds_has (&course->kinds, section))
    return tessera_follow_kinds_likely (&course->kinds);
  if (repeats && (!course->has_marks || section + 1 == plan->n_sections))
    return section;
  return section + 1 < plan->n_sections ? section + 1 : TESSERA_NONE;
}

void
tessera_course_enter (TesseraCourse *course, uint32_t section, uint32_t place)
{
  if (section != course->section)
    course->is_at_mark = false;
  course->section = section;
  course->next_section = tessera_course_expect_after (course, section);
  course->visit++;
  course->astray = 0;
  course->far_phase = TESSERA_NONE;
  tessera_align_reset (&course->align, place);
}

/* What is dynamic between two slots comes before or after the placeless requests there.
 */
static bool
fill_extras (TesseraCourse *course)
{
  const TesseraPlan *plan = course->plan;
  const TesseraSlots *slots = course->slots;
  uint32_t first = 0;

  if (plan->n_rooms == 0)
    return true;
  course->extras = calloc ((size_t) slots->n_requests + 1, sizeof *course->extras);
  if (course->extras == NULL)
    return false;
  for (size_t i = 0; i < plan->n_rooms; i++)
    {
      const TesseraRoom *room = &plan->rooms[i];

      while (first < slots->n_requests && slots->next_slots[first] < room->before)
        first++;
      for (uint32_t r = first;
           r <= slots->n_requests && slots->next_slots[r] == room->before; r++)
        if (room->most_bytes > course->extras[r])
          course->extras[r] = room->most_bytes;
    }
  return true;
}

TesseraStatus
tessera_course_init (TesseraCourse *course, const TesseraSlots *slots)
{
  *course = (TesseraCourse){ .plan = slots->plan, .slots = slots };
  course->section = course->next_section = course->phase = TESSERA_NONE;
  course->owed_phase = TESSERA_NONE;
  tessera_follow_kinds_init (&course->kinds, slots);
  if (!tessera_course_sort_phases (course) || !fill_extras (course))
    return TESSERA_NO_MEMORY;
  if (course->plan->n_sections > 0)
    tessera_course_enter (course, 0, 0);
  return TESSERA_OK;
}

void
tessera_course_clear (TesseraCourse *course)
{
  free (course->phases);
  free (course->extras);
  *course = (TesseraCourse){ 0 };
}

static TesseraRoute
route_ahead (const TesseraCourse *course)
{
  const TesseraSlots *slots = course->slots;
  uint32_t now = first_request_now (course);
  TesseraRoute route = {
    .now = slots->signatures + now,
    .n_now = n_requests_now (course),
    .extras_now = course->extras != NULL ? course->extras + now : NULL,
  };

  if (course->next_section != TESSERA_NONE)
    {
      uint32_t next = slots->first_requests[course->next_section];

      route.next = slots->signatures + next;
      route.extras_next = course->extras != NULL ? course->extras + next : NULL;
      route.n_next = tessera_slots_n_requests (slots, course->next_section);
    }
  return route;
}

/* At the end of a section that repeats and is not the last, the request itself tells
 * whether it is done again. */
static void
choose_next (TesseraCourse *course, uint32_t signature)
{
  const TesseraPlan *plan = course->plan;
  uint32_t section = course->section;
  bool is_kind = tessera_follow_kinds_has (&course->kinds, section);
  const uint32_t choices[] = { tessera_course_expect_after (course, section), section,
                               is_kind ? course->kinds.first + course->kinds.n_kinds
                                       : section + 1 };

  if (is_kind || tessera_follow_kinds_has (&course->kinds, section + 1))
    tessera_follow_kinds_begin (&course->kinds);

  for (size_t k = 0; k < sizeof choices / sizeof choices[0]; k++)
    {
      uint32_t s = choices[k];

      if (s >= plan->n_sections ||
          (s == section && section_now (course)->kind != TESSERA_SECTION_REPEATS))
        continue;
      if (tessera_slots_n_requests (course->slots, s) > 0 &&
          course->slots->signatures[course->slots->first_requests[s]] == signature)
        {
          course->next_section = s;
          return;
        }
    }
}

/* The run passes from one section to the next: at once when it is sure of it, else when
 * most of what it may still be compared with lies there. */
static void
pass_on (TesseraCourse *course)
{
  int64_t n_now = n_requests_now (course);
  int64_t margin = course->align.is_sure ? 1 : TESSERA_ALIGN_REACH / 2;

  if (course->next_section == TESSERA_NONE || course->align.cursor < n_now + margin)
    return;
  tessera_align_move (&course->align, n_now);
  course->section = course->next_section;
  course->is_at_mark = false;
  course->next_section = tessera_course_expect_after (course, course->section);
  course->visit++;
}

/* The run left out the requests from @first up to before @end: their slots are nobody's.
 */
static void
note_left_out (TesseraCourse *course, uint32_t first, uint32_t end)
{
  if (end - first > TESSERA_MAX_LEFT_OUT)
    first = end - TESSERA_MAX_LEFT_OUT;
  for (uint32_t request = first; request < end; request++)
    {
      uint32_t slot = tessera_slots_of_request (course->slots, request);

      if (slot != TESSERA_NONE)
        course->left_out[course->n_left_out++ % TESSERA_MAX_LEFT_OUT] = slot;
    }
}

uint32_t
tessera_course_find (TesseraCourse *course, const TesseraAlignRequest *request)
{
  uint32_t signature = request->signature;
  TesseraAlignAnswer answer;
  TesseraRoute route;
  int64_t cursor;
  int64_t place;
  uint32_t found = TESSERA_NONE;
  uint32_t kind, kind_place;

  if (course->far_phase != TESSERA_NONE)
    tessera_course_go_to_phase (course, signature);
  if (course->align.is_sure && course->align.cursor == n_requests_now (course))
    choose_next (course, signature);
  kind =
      tessera_follow_kinds_see (&course->kinds, signature, course->section, &kind_place);
  if (kind != TESSERA_NONE)
    tessera_course_enter (course, kind, kind_place);
  route = route_ahead (course);
  cursor = course->align.cursor;
  answer = tessera_align_request (&course->align, &route, request, &place);
  if (answer == TESSERA_ALIGN_EXTRA)
    {
      pass_on (course);
      return TESSERA_NONE;
    }
  course->recent[course->n_recent++ % TESSERA_GRAM_REQUESTS] = signature;
  if (answer == TESSERA_ALIGN_PLANNED)
    {
      uint32_t first = first_request_now (course);

      if (place >= n_requests_now (course))
        {
          place -= n_requests_now (course);
          first = course->slots->first_requests[course->next_section];
        }
      else if (place > cursor && cursor >= 0)
        note_left_out (course, first + (uint32_t) cursor, first + (uint32_t) place);
      found = first + (uint32_t) place;
      course->astray -= course->astray > 0;
    }
  else
    course->astray += ASTRAY_MISS;
  pass_on (course);
  if (found == TESSERA_NONE && tessera_course_is_astray (course))
    found = tessera_course_find_again (course);
  if (found >= course->owed_place && found < course->owed_end)
    course->owed_phase = TESSERA_NONE;
  return found;
}
