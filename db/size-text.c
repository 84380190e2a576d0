/* SPDX-License-Identifier: Apache-2.0 */
#include "db/size-text.h"

#include <stdio.h>
#include <string.h>

const TesseraSizeUnit tessera_size_units[TESSERA_N_SIZE_UNITS] = {
  { "B", 1.0 },      { "KiB", 0x1p10 }, { "MiB", 0x1p20 }, { "GiB", 0x1p30 },
  { "TiB", 0x1p40 }, { "PiB", 0x1p50 }, { "EiB", 0x1p60 },
};

const TesseraSizeUnit *
tessera_size_unit (double bytes, double least)
{
  size_t i = TESSERA_N_SIZE_UNITS - 1;

  while (i > 0 && bytes < least * tessera_size_units[i].bytes)
    i--;
  return &tessera_size_units[i];
}

/* Whether @n letters of @text, of either case, are those of @small. */
static bool
says (const char *text, size_t n, const char *small)
{
  for (size_t i = 0; i < n; i++)
    if ((text[i] | 0x20) != small[i])
      return false;
  return n == strlen (small);
}

/* The bytes of the unit that @text names to its end: "GiB", "G" and "GB"; 0: of none. */
static uint64_t
parse_unit (const char *text)
{
  static const char letters[] = "kmgtpe";
  size_t n = strlen (text), i = 0;
  uint64_t factor, bytes = 1;

  while (n > 0 && strchr (" \t\r\n", text[n - 1]) != NULL)
    n--;
  if (n == 0 || says (text, n, "b") || says (text, n, "bytes"))
    return 1;
  while (letters[i] != '\0' && (text[0] | 0x20) != letters[i])
    i++;
  factor = says (text + 1, n - 1, "b")                                  ? 1000
           : says (text + 1, n - 1, "") || says (text + 1, n - 1, "ib") ? 1024
                                                                        : 0;
  if (letters[i] == '\0')
    return 0;
  for (size_t k = 0; k <= i; k++)
    bytes *= factor;
  return bytes;
}

bool
tessera_parse_bytes (const char *text, uint64_t *out_bytes)
{
  uint64_t whole = 0, unit_bytes, bytes;
  double decimals = 0.0, digit = 0.1;

  text += strspn (text, " \t\r\n");
  if (strspn (text + (*text == '.'), "0123456789") == 0)
    return false;
  for (; *text >= '0' && *text <= '9'; text++)
    if (__builtin_mul_overflow (whole, 10, &whole) ||
        __builtin_add_overflow (whole, (uint64_t) (*text - '0'), &whole))
      return false;
  if (*text == '.')
    for (text++; *text >= '0' && *text <= '9'; text++, digit /= 10.0)
      decimals += (*text - '0') * digit;
  text += strspn (text, " \t\r\n");
  unit_bytes = parse_unit (text);
  if (unit_bytes == 0 || __builtin_mul_overflow (whole, unit_bytes, &bytes) ||
      bytes > INT64_MAX)
    return false;
  bytes += (uint64_t) (decimals * (double) unit_bytes + 0.5);
  if (bytes > INT64_MAX)
    return false;
  *out_bytes = bytes;
  return true;
}

char *
tessera_format_bytes (uint64_t bytes, char *buffer, size_t n_buffer)
{
  /* What would be written as 1024.00 is written in the next unit. */
  const TesseraSizeUnit *unit =
      tessera_size_unit ((double) bytes * (1024.0 / 1023.995), 1);

  if (bytes < 1024)
    snprintf (buffer, n_buffer, "%u B", (unsigned) bytes);
  else
    snprintf (buffer, n_buffer, "%.2f %s", (double) bytes / unit->bytes, unit->name);
  return buffer;
}
