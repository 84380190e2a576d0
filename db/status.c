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

/* Controls, marks that turn what stands around them, and letters that cannot be seen. */
static bool
is_control (uint32_t letter)
{
  static const struct
  {
    uint32_t first, last;
  } hidden[] = {
    { 0x00, 0x1f },     { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
    { 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f },
    { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
  };

  for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
    if (letter >= hidden[i].first && letter <= hidden[i].last)
      return true;
  return false;
}

size_t
tessera_show_letter (const char *text, char *shown)
{
  const unsigned char *bytes = (const unsigned char *) text;
  size_t n_bytes = sequence_bytes (bytes);
  uint32_t letter = bytes[0];

  if (letter >= ' ' && letter < 0x7f)
    {
      shown[0] = *text;
      shown[1] = '\0';
      return 1;
    }
  if (n_bytes == 0)
    {
      snprintf (shown, TESSERA_SHOWN_BYTES, "\\x%02x", letter);
      return 1;
    }
  if (n_bytes > 1)
    letter &= 0x7fu >> n_bytes;
  for (size_t i = 1; i < n_bytes; i++)
    letter = letter << 6 | (bytes[i] & 0x3f);
  if (is_control (letter))
    snprintf (shown, TESSERA_SHOWN_BYTES, "\\u%04x", letter);
  else
    snprintf (shown, TESSERA_SHOWN_BYTES, "%.*s", (int) n_bytes, text);
  return n_bytes;
}

char *
tessera_show_text (const char *text, char *out_shown, size_t n_shown)
{
  size_t n = 0;

  while (*text != '\0')
    {
      char letter[TESSERA_SHOWN_BYTES];
      size_t n_letter;

      text += tessera_show_letter (text, letter);
      n_letter = strlen (letter);
      if (n + n_letter >= n_shown)
        break;
      memcpy (out_shown + n, letter, n_letter);
      n += n_letter;
    }
  if (n_shown > 0)
    out_shown[n] = '\0';
  return out_shown;
}

TesseraStatus
tessera_fail (TesseraError *error, TesseraStatus status, const char *format, ...)
{
  char text[sizeof error->text];
  va_list arguments;

  if (!error || error->status != TESSERA_OK)
    return status;
  error->status = status;
  va_start (arguments, format);
  if (vsnprintf (text, sizeof text, format, arguments) <= 0)
    snprintf (text, sizeof text, "Something failed without a reason");
  va_end (arguments);
  tessera_show_text (text, error->text, sizeof error->text);
  return status;
}

bool
tessera_progress (const TesseraProgress *progress, double fraction)
{
  return !progress || !progress->report || progress->report (progress->user, fraction);
}
