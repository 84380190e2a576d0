/*
 * Stocks of small structs, so that an allocation of the program costs none of ours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include <stdlib.h>

enum
{
  STOCK = 512 /* made at once; never given back: a run needs them again */
};

RuntimeBlock *
tessera_device_take_block (RuntimeDevice *device)
{
  RuntimeBlock *block = device->spare_blocks;

  if (block == NULL)
    {
      block = calloc (STOCK, sizeof *block);
      if (block == NULL)
        return NULL;
      for (size_t i = 0; i + 1 < STOCK; i++)
        block[i].next = &block[i + 1];
    }
  device->spare_blocks = block->next;
  return block;
}

void
tessera_device_give_block (RuntimeDevice *device, RuntimeBlock *block)
{
  block->next = device->spare_blocks;
  device->spare_blocks = block;
}

RuntimeWait *
tessera_device_take_wait (RuntimeDevice *device)
{
  RuntimeWait *wait = device->spare_waits;

  if (wait == NULL)
    {
      wait = calloc (STOCK, sizeof *wait);
      if (wait == NULL)
        return NULL;
      for (size_t i = 0; i + 1 < STOCK; i++)
        wait[i].next = &wait[i + 1];
    }
  device->spare_waits = wait->next;
  return wait;
}

void
tessera_device_give_wait (RuntimeDevice *device, RuntimeWait *wait)
{
  wait->next = device->spare_waits;
  device->spare_waits = wait;
}
