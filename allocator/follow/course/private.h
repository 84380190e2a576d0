/*
 * What the files of a course (allocator/follow/course/course.h) share, and nobody else.
 * What asks about the section at hand must only be called where the plan has one
 * (course->section is not TESSERA_NONE).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/follow/course/course.h"

static inline uint32_t
n_requests_now (const TesseraCourse *course)
{
  return tessera_slots_n_requests (course->slots, course->section);
}

static inline uint32_t
first_request_now (const TesseraCourse *course)
{
  return course->slots->first_requests[course->section];
}

static inline const TesseraSection *
section_now (const TesseraCourse *course)
{
  return &course->plan->sections[course->section];
}

static inline uint32_t
cursor_now (const TesseraCourse *course)
{
  return course->align.cursor > 0 ? (uint32_t) course->align.cursor : 0;
}

/* course.c: the run is in @section from now on, behind @place of its requests. */
void tessera_course_enter (TesseraCourse *course, uint32_t section, uint32_t place);
/* The section that comes after @section when nothing says otherwise, or TESSERA_NONE. */
uint32_t tessera_course_expect_after (const TesseraCourse *course, uint32_t section);

/* told.c: course->phases by name. Returns: false: no memory. */
TESSERA_MUST_USE bool tessera_course_sort_phases (TesseraCourse *course);
/* The first request since a phase was entered that begins elsewhere: if it is one of the
 * phase's first, the run is there, whatever was taken for planned before. */
void tessera_course_go_to_phase (TesseraCourse *course, uint32_t signature);

/* astray.c: whether so much missed of late that the place is looked for anew. */
bool tessera_course_is_astray (const TesseraCourse *course);
/* Looks for the last requests in the whole plan, and enters there. Returns: the last
 * one's request of the plan, or TESSERA_NONE: nothing is like them. */
uint32_t tessera_course_find_again (TesseraCourse *course);
