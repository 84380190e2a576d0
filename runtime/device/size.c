/*
 * Sizes as text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/size.h"

#include <stdio.h>

RuntimeSize
tessera_size_text (uint64_t bytes)
{
  static const char *const units[] = { "KiB", "MiB", "GiB" };
  double amount = (double) bytes / 1024;
  size_t unit = 0;
  RuntimeSize size;

  if (bytes <= 1024)
    {
      snprintf (size.text, sizeof size.text, "%u bytes", (unsigned) bytes);
      return size;
    }
  for (; unit + 1 < sizeof units / sizeof *units && amount > 1024; unit++)
    amount /= 1024;
  snprintf (size.text, sizeof size.text, "%.2f %s", amount, units[unit]);
  return size;
}
