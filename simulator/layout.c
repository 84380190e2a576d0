/*
 * Where everything lay, over the whole trace, under one policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "simulator/layout.h"

#include <stdlib.h>

const char *
tessera_layout_owner (const TesseraLayout *layout)
{
  bool has_followed =
      layout != NULL && layout->kind == TESSERA_LAYOUT_RECORDED && layout->pool_bytes > 0;

  return has_followed ? "The planned run" : "PyTorch";
}

void
tessera_layout_free (TesseraLayout *layout)
{
  if (layout == NULL)
    return;
  free (layout->addr);
  free (layout->block_bytes);
  free (layout->died_index);
  free (layout->is_hit);
  free (layout->is_left);
  free (layout->spans);
  free (layout->ooms);
  free (layout->curves.live_bytes);
  free (layout->curves.allocated_bytes);
  free (layout->curves.active_bytes);
  free (layout->curves.reserved_bytes);
  free (layout);
}
