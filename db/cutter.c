/*
 * Where a step is cut into parts: see cutter.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/cutter.h"

#include <ctype.h>
#include <string.h>

static const char numbered[] = "micro-batch ";

const char *
tessera_bare_phase (const char *name)
{
  const char *rest = name + sizeof numbered - 1;

  if (strncmp (name, numbered, sizeof numbered - 1) != 0 ||
      !isdigit ((unsigned char) *rest))
    return name;
  while (isdigit ((unsigned char) *rest))
    rest++;
  return rest[0] == ' ' && rest[1] != 0 ? rest + 1 : name;
}

bool
tessera_cutter_see (TesseraCutter *cutter, const char *name)
{
  bool is_it = cutter->phase && name && strcmp (name, cutter->phase) == 0;
  bool is_cut = is_it && cutter->had_other;

  cutter->had_other = !is_it && (cutter->had_other || name != NULL);
  return is_cut;
}
