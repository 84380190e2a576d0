/*
 * Where everything lay, over the whole trace, under one policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/layout.h"

#include <stdlib.h>

void
tessera_layout_free (TesseraLayout *layout)
{
  if (layout == NULL)
    return;
  free (layout->addr);
  free (layout->block_bytes);
  free (layout->died_index);
  free (layout->is_hit);
  free (layout->spans);
  free (layout->ooms);
  free (layout->curves.live_bytes);
  free (layout->curves.allocated_bytes);
  free (layout->curves.active_bytes);
  free (layout->curves.reserved_bytes);
  free (layout);
}
