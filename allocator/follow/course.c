/*
 * Where a run is in its plan: which planned request each one is, by what is expected, by
 * alignment (align.c), by the steps and phases that it tells, by search once it is lost.
 *
 * What asks about the section at hand must only be called where the plan has one
 * (course->section is not TESSERA_NONE).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/follow/matching.h"

#include <stdlib.h>
#include <string.h>

enum
{
  SYNC_MISS = 2,           /* a miss counts up so much, a hit down by one */
  SYNC_LIMIT = 8,          /* with as many the place is looked for anew */
  SYNC_LIMIT_DYNAMIC = 64, /* ... where some requests are of no size that is known */
  /* A phase far off is believed where one of its first requests comes first. */
  PHASE_FIRST = 8,
};

static uint32_t
n_requests_now (const TesseraCourse *course)
{
  return tessera_slots_n_requests (course->slots, course->section);
}

static uint32_t
first_request_now (const TesseraCourse *course)
{
  return course->slots->first_requests[course->section];
}

static const TesseraSection *
section_now (const TesseraCourse *course)
{
  return &course->plan->sections[course->section];
}

static uint32_t
cursor_now (const TesseraCourse *course)
{
  return course->align.cursor > 0 ? (uint32_t) course->align.cursor : 0;
}

/* The section that comes after @section when nothing says otherwise, or TESSERA_NONE. */
static uint32_t
expect_after (const TesseraCourse *course, uint32_t section)
{
  const TesseraPlan *plan = course->plan;
  bool repeats = plan->sections[section].kind == TESSERA_SECTION_REPEATS;

  if (tessera_follow_kinds_has (&course->kinds, section))
    return tessera_follow_kinds_likely (&course->kinds);
  if (repeats && (!course->has_marks || section + 1 == plan->n_sections))
    return section;
  return section + 1 < plan->n_sections ? section + 1 : TESSERA_NONE;
}

/* The run is in @section from now on, behind @place of its requests. */
static void
enter (TesseraCourse *course, uint32_t section, uint32_t place)
{
  if (section != course->section)
    course->is_at_mark = false;
  course->section = section;
  course->next_section = expect_after (course, section);
  course->out_of_sync = 0;
  course->far_phase = TESSERA_NONE;
  tessera_align_reset (&course->align, place);
}

/* ---- A run that is out of sync with its plan ---- */

/* Whether so much missed of late that the place is looked for anew. */
static bool
is_out_of_sync (const TesseraCourse *course)
{
  return course->out_of_sync >=
         (uint32_t) (course->extras != NULL ? SYNC_LIMIT_DYNAMIC : SYNC_LIMIT);
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

/* What an optimizer makes is made in its phase. A copy of the weights between two steps has
 * the same sizes in the same order, and would stay where each step needs the place. */
static bool
is_in_other_phase (const TesseraCourse *course, uint32_t request)
{
  return course->tells_phases && course->phase == TESSERA_NONE &&
         course->optimizer_phase != TESSERA_NONE &&
         course->slots->phases[request] == course->optimizer_phase;
}

/* Looks for the last requests in the whole plan, and enters there. Returns: the last
 * one's request of the plan, or TESSERA_NONE: nothing is like them. */
static uint32_t
find_again (TesseraCourse *course)
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
  last = tessera_slots_find_gram (slots, recent, cursor > 0 ? (uint32_t) cursor : 0,
                                  first_ahead (course));
  if (last == TESSERA_NONE || is_in_other_phase (course, last))
    return TESSERA_NONE;
  while (last >= slots->first_requests[s + 1])
    s++;
  enter (course, s, last - slots->first_requests[s] + 1);
  return last;
}

/* ---- What the run is annotated with: steps and phases ---- */

static int
compare_names (const void *a, const void *b)
{
  const TesseraPhaseName *x = a;
  const TesseraPhaseName *y = b;

  return strcmp (x->name, y->name);
}

/* course->phases by name. Returns: false: no memory. */
static bool
sort_phases (TesseraCourse *course)
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
 * need not be that of the steps which repeat: the next requests tell. */
static void
stay_in_start (TesseraCourse *course)
{
  if (!course->is_at_mark)
    course->mark = cursor_now (course);
  course->is_at_mark = true;
  if (course->section == 0)
    note_owed (course, course->mark);
}

void
tessera_course_step (TesseraCourse *course)
{
  const TesseraPlan *plan = course->plan;
  const TesseraSection *section;

  course->has_marks = true;
  if (course->section == TESSERA_NONE)
    return;
  course->next_section = expect_after (course, course->section);
  section = section_now (course);
  if (section->kind != TESSERA_SECTION_REPEATS &&
      course->align.cursor < n_requests_now (course))
    {
      stay_in_start (course);
      return;
    }
  if (course->kinds.n_kinds > 1)
    {
      tessera_follow_kinds_begin (&course->kinds);
      enter (course, tessera_follow_kinds_likely (&course->kinds), 0);
      course->mark = 0;
      course->is_at_mark = true;
      return;
    }
  for (uint32_t k = 0; k < plan->n_sections; k++)
    {
      uint32_t s = (course->section + k) % (uint32_t) plan->n_sections;

      if (plan->sections[s].kind == TESSERA_SECTION_REPEATS)
        {
          enter (course, s, 0);
          course->mark = 0;
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

/* A phase that the section at hand lacks: where another kind has it first, or what comes
 * behind the steps, as the evaluation at the end. */
static void
expect_elsewhere (TesseraCourse *course, uint32_t phase)
{
  const TesseraFollowKinds *kinds = &course->kinds;
  bool is_kind = tessera_follow_kinds_has (kinds, course->section);
  uint32_t s = course->section + 1, end = (uint32_t) course->plan->n_sections;

  if (is_kind)
    {
      /* In the layout of this step: the other's places may still be held. */
      s = kinds->first + (kinds->is_second ? kinds->n_alternating : 0);
      end = s + (kinds->n_alternating > 0 ? kinds->n_alternating : kinds->n_kinds);
    }
  for (; s < end; s++)
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
  uint32_t from = course->is_at_mark ? course->mark : cursor_now (course);
  bool repeats = section_now (course)->kind == TESSERA_SECTION_REPEATS;
  uint32_t place;

  if (from >= n_places && !repeats)
    return;
  place = find_phase (course, from % n_places, phase);
  if (place == n_places)
    {
      expect_elsewhere (course, phase);
      return;
    }
  /* The run may also enter a phase without any requests: the next one tells. */
  course->far_phase = place;
  course->far_section = course->section;
  course->out_of_sync = 0;
}

/* Returns: the plan's number of the phase, or TESSERA_NONE: it knows none of that name. */
static uint32_t
find_name (const TesseraCourse *course, const char *name)
{
  const TesseraPhaseName key = { .name = name };
  const TesseraPhaseName *found =
      bsearch (&key, course->phases, course->plan->n_strings, sizeof key, compare_names);

  return found != NULL ? found->phase : TESSERA_NONE;
}

void
tessera_course_phase (TesseraCourse *course, const char *name)
{
  uint32_t phase, n_places, cursor;

  course->far_phase = course->phase = TESSERA_NONE;
  if (name == NULL || course->section == TESSERA_NONE)
    return;
  phase = find_name (course, name);
  n_places = n_requests_now (course);
  if (phase == TESSERA_NONE || n_places == 0)
    return;
  course->phase = phase;
  course->tells_phases = true;
  if (phase == course->owed_phase)
    {
      course->far_section = 0;
      course->far_phase = course->owed_place;
      course->is_at_mark = false;
      return;
    }
  cursor = cursor_now (course);
  if (cursor >= n_places || is_out_of_sync (course) ||
      course->slots->phases[first_request_now (course) + cursor] != phase)
    expect_phase (course, phase);
  course->is_at_mark = false;
}

/* The first request since a phase was entered that begins elsewhere: if it is one of the
 * phase's first, the run is there, whatever was taken for planned before. */
static void
go_to_phase (TesseraCourse *course, uint32_t signature)
{
  uint32_t section = course->far_section;
  uint32_t first = course->slots->first_requests[section];
  uint32_t place = course->far_phase;
  uint32_t n_places = tessera_slots_n_requests (course->slots, section);

  course->far_phase = TESSERA_NONE;
  for (uint32_t i = place; i < n_places && i < place + PHASE_FIRST; i++)
    if (course->slots->signatures[first + i] == signature)
      {
        enter (course, section, place);
        return;
      }
}

/* ---- Requests ---- */

/* What is dynamic between two slots comes before or after the unplanned requests there.
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
  if (!sort_phases (course) || !fill_extras (course))
    return TESSERA_NO_MEMORY;
  course->optimizer_phase = find_name (course, "optimizer");
  if (course->plan->n_sections > 0)
    enter (course, 0, 0);
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
  const uint32_t choices[] = { expect_after (course, section), section,
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
  course->next_section = expect_after (course, course->section);
}

static void
note_found (TesseraCourse *course, uint32_t request)
{
  course->out_of_sync -= course->out_of_sync > 0;
  if (request >= course->owed_place && request < course->owed_end)
    course->owed_phase = TESSERA_NONE;
}

void
tessera_course_pass (TesseraCourse *course, uint32_t request)
{
  course->align.cursor++;
  course->recent[course->n_recent++ % TESSERA_GRAM_REQUESTS] =
      course->slots->signatures[request];
  note_found (course, request);
}

uint32_t
tessera_course_find (TesseraCourse *course, const TesseraAlignRequest *request)
{
  uint32_t signature = request->signature;
  TesseraAlignAnswer answer;
  TesseraRoute route;
  int64_t place;
  uint32_t found = TESSERA_NONE;
  uint32_t kind, kind_place;

  if (course->far_phase != TESSERA_NONE)
    go_to_phase (course, signature);
  if (course->align.is_sure && course->align.cursor == n_requests_now (course))
    choose_next (course, signature);
  kind = tessera_follow_kinds_see (&course->kinds, signature, course->phase,
                                   course->section, &kind_place);
  if (kind != TESSERA_NONE)
    enter (course, kind, kind_place);
  route = route_ahead (course);
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
      found = first + (uint32_t) place;
    }
  else
    course->out_of_sync += SYNC_MISS;
  pass_on (course);
  if (found == TESSERA_NONE && is_out_of_sync (course))
    found = find_again (course);
  if (found != TESSERA_NONE)
    note_found (course, found);
  return found;
}
