/*
 * The device as a plan's pool leaves it to what the plan does not serve.
 *
 * Pages of the pool get their memory when they are used first, but the plan was accepted
 * because there is enough for all of it. So whoever serves the rest sees a device that is
 * full as soon as taking more would leave less than is promised to the pool; as if the
 * pool held it. What then finds no memory may still have the pool's: promises are broken
 * before a request fails (allocator/policy.h). The device is asked what it has left only
 * where memory is taken from it while something is promised.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "allocator/policy/pages/pages.h"

typedef struct
{
  TesseraDevice device;      /* must be first: for the others */
  TesseraDevice *whole;      /* borrowed */
  const TesseraPages *pages; /* of the pool; NULL: there is none */
} TesseraBeside;

void tessera_beside_init (TesseraBeside *beside, TesseraDevice *whole);
