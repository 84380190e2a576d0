/*
 * Sentences of failure and reports of progress.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Returns: bytes of the well-formed UTF-8 sequence at @text, or 0. */
static size_t
sequence_bytes (const unsigned char *text)
{
  size_t n_bytes = text[0] < 0x80                      ? 1
                   : text[0] >= 0xc2 && text[0] < 0xe0 ? 2
                   : text[0] >= 0xe0 && text[0] < 0xf0 ? 3
                   : text[0] >= 0xf0 && text[0] < 0xf5 ? 4
                                                       : 0;

  for (size_t i = 1; i < n_bytes; i++)
    if ((text[i] & 0xc0) != 0x80)
      return 0;
  /* Overlong forms, surrogates, what is beyond Unicode. */
  if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] >= 0xa0) ||
      (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] >= 0x90))
    return 0;
  return n_bytes;
}

static bool
is_control (const unsigned char *text)
{
  return text[0] < 0x20 || text[0] == 0x7f || (text[0] == 0xc2 && text[1] < 0xa0);
}

void
tessera_make_presentable (char *text)
{
  unsigned char *at = (unsigned char *) text;

  while (*at)
    {
      size_t n_bytes = sequence_bytes (at);

      if (n_bytes == 0)
        {
          *at = '?';
          n_bytes = 1;
        }
      else if (is_control (at))
        memset (at, ' ', n_bytes);
      at += n_bytes;
    }
}

TesseraStatus
tessera_fail (TesseraError *error, TesseraStatus status, const char *format, ...)
{
  va_list arguments;

  if (!error || error->status != TESSERA_OK)
    return status;
  error->status = status;
  va_start (arguments, format);
  if (vsnprintf (error->text, sizeof error->text, format, arguments) <= 0)
    snprintf (error->text, sizeof error->text, "Something failed without a reason");
  va_end (arguments);
  tessera_make_presentable (error->text);
  return status;
}

bool
tessera_progress (const TesseraProgress *progress, double fraction)
{
  return !progress || !progress->report || progress->report (progress->user, fraction);
}
