/*
 * Sentences of failure and reports of progress.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "db/status.h"

#include <stdarg.h>
#include <stdio.h>

/* Returns: bytes of the well-formed UTF-8 sequence at @text, or 0. Surrogates and
 * overlong forms are not told apart: what is shown is harmless either way. */
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
  return n_bytes;
}

/* Names of files may hold anything: what is shown is one line of UTF-8. */
static void
make_presentable (char *text)
{
  unsigned char *at = (unsigned char *) text;

  while (*at)
    {
      size_t n_bytes = sequence_bytes (at);

      if (n_bytes == 0 || *at < 0x20 || *at == 0x7f)
        {
          *at = n_bytes == 0 ? '?' : ' ';
          n_bytes = 1;
        }
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
  make_presentable (error->text);
  return status;
}

bool
tessera_progress (const TesseraProgress *progress, double fraction)
{
  return !progress || !progress->report || progress->report (progress->user, fraction);
}
