/* See misses.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/tell/misses.h"

char *
cli_planned_misses (guint64 n_misses, guint64 n_planned)
{
  if (n_planned == 0)
    return g_strdup ("");
  if (n_planned == n_misses)
    return g_strdup (", all planned");
  return g_strdup_printf (", %" G_GUINT64_FORMAT " of them planned", n_planned);
}
