/*
 * Where a step is cut into parts: planner and follower go by the same phases.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>

/* Without the number that the second and later micro-batches of a step have in it:
 * "micro-batch 2 forward" is "forward". Points into @name. */
const char *tessera_bare_phase (const char *name);

/* Of the step under way; all but the name 0 where it begins. */
typedef struct
{
  const char
      *phase;     /* bare name of the phase whose begin is a cut; NULL: there is none */
  bool had_other; /* another one came since the part began */
} TesseraCutter;

/* The phase is now @name, bare (NULL: none). Returns: whether a part begins here. */
bool tessera_cutter_see (TesseraCutter *cutter, const char *name);
