/*
 * Patterns: see match.h. On a mismatch only the last star is tried again, one character
 * later: what stars before it took need never be changed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/edits/match.h"

#include <stddef.h>

bool
tessera_match (const char *pattern, const char *text)
{
  const char *star = NULL, *from = NULL;

  while (*text != '\0')
    if (*pattern == '*')
      {
        star = pattern++;
        from = text;
      }
    else if (*pattern == *text)
      {
        pattern++;
        text++;
      }
    else if (star)
      {
        pattern = star + 1;
        text = ++from;
      }
    else
      return false;
  while (*pattern == '*')
    pattern++;
  return *pattern == '\0';
}
