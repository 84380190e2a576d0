/*
 * For tests: traces told in words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <string.h>

#include "db/trace.h"
#include "tests/ok.h"

#define MIB ((uint64_t) 1 << 20)
#define BASE ((uint64_t) 1 << 40)

/* A sum such as B+4M-512: B is BASE, M MIB. */
static inline uint64_t
test_number (const char *text)
{
  uint64_t sum = 0;

  while (*text != '\0')
    {
      bool is_minus = *text == '-';
      char *end = (char *) text + (*text == '-' || *text == '+');
      uint64_t number = *end == 'B' ? BASE : g_ascii_strtoull (end, &end, 10);

      end += *end == 'B';
      if (*end == 'M')
        {
          number *= MIB;
          end++;
        }
      g_assert_true (end > text);
      sum += is_minus ? -number : number;
      text = end;
    }
  return sum;
}

static inline bool
test_has_word (char *const *words, const char *word)
{
  return g_strv_contains ((const char *const *) words, word);
}

static inline void
test_tell_held (TesseraHeld *held, char *const *words)
{
  uint64_t addr = test_number (words[1]), n_bytes = test_number (words[2]);

  if (strcmp (words[0], "segment") == 0)
    OK (tessera_trace_add_segment (
        held, &(TesseraSegment){ .addr = addr,
                                 .size_bytes = n_bytes,
                                 .stack = TESSERA_NONE,
                                 .pool = test_has_word (words, "pool"),
                                 .is_small = test_has_word (words, "small"),
                                 .is_expandable = test_has_word (words, "expandable") }));
  else
    OK (tessera_trace_add_block (
        held, &(TesseraHeldBlock){
                  .addr = addr,
                  .size_bytes = n_bytes,
                  .block_bytes = test_number (words[3]),
                  .stack = TESSERA_NONE,
                  .state = test_has_word (words, "free")      ? TESSERA_BLOCK_FREE
                           : test_has_word (words, "pending") ? TESSERA_BLOCK_PENDING
                                                              : TESSERA_BLOCK_LIVE,
                  .tail_open = test_has_word (words, "open") }));
}

/*
 * Adds to @trace what @text says, told apart by semicolons:
 *
 *   start segment ADDR BYTES [small] [expandable] [pool]     end ...
 *   start block ADDR ASKED BYTES [free|pending] [open]       end ...
 *   ACTION ADDR BYTES          an event; "free" is both of it
 */
static inline void
test_tell (TesseraTrace *trace, const char *text)
{
  g_auto (GStrv) lines = g_strsplit (text, ";", -1);

  for (char **line = lines; *line != NULL; line++)
    {
      g_auto (GStrv) words = g_strsplit (g_strstrip (*line), " ", -1);
      bool is_start = g_strcmp0 (words[0], "start") == 0, is_free;

      if (words[0] == NULL)
        continue;
      if (is_start || strcmp (words[0], "end") == 0)
        {
          test_tell_held (is_start ? &trace->start : &trace->end, words + 1);
          continue;
        }
      is_free = strcmp (words[0], "free") == 0;
      for (uint8_t action = TESSERA_ALLOC; action <= TESSERA_MARK; action++)
        if (is_free ? action == TESSERA_FREE_REQUESTED || action == TESSERA_FREE_COMPLETED
                    : strcmp (words[0], tessera_action_name (action)) == 0)
          OK (tessera_trace_add_event (
              trace, &(TesseraEvent){ .addr = test_number (words[1]),
                                      .size_bytes = test_number (words[2]),
                                      .stack = TESSERA_NONE,
                                      .action = action }));
    }
}

/* A trace that has addresses and segments, and is told in words. */
static inline TesseraTrace *
test_trace_of (const char *text)
{
  TesseraTrace *trace;

  OK (tessera_trace_new (&trace));
  trace->has_addresses = trace->has_segments = true;
  trace->alignment_bytes = 512;
  test_tell (trace, text);
  return trace;
}
