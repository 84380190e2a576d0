/*
 * The one door between an allocation policy and memory.
 *
 * Policies decide; a device obeys. The virtual device hands out addresses from a counter
 * and costs nothing, others map host memory or call a GPU's driver. Addresses are
 * numbers: no policy ever follows one. Sizes are bytes. Calls are made with the policy's
 * lock held, from any thread. 0 is never a valid address.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

typedef struct TesseraDevice TesseraDevice;

struct TesseraDevice
{
  /* cudaMalloc: TESSERA_OK and an address (a multiple of 512), or TESSERA_OUT_OF_DEVICE;
   * here and below TESSERA_IO where the driver fails for another reason. */
  TesseraStatus (*allocate) (TesseraDevice *device,
                             uint64_t size_bytes,
                             uint32_t stream,
                             uint64_t *out_addr);
  void (*release) (TesseraDevice *device, uint64_t addr, uint64_t size_bytes);

  /* Address space without memory: for one expandable segment. */
  TesseraStatus (*reserve) (TesseraDevice *device,
                            uint32_t stream,
                            uint64_t page_bytes,
                            uint64_t *out_addr,
                            uint64_t *out_size_bytes);
  void (*unreserve) (TesseraDevice *device, uint64_t addr, uint64_t size_bytes);
  /* Whole pages; of the last one only the beginning may be asked for, and is made. What was
   * mapped by one call may be unmapped by several, cut at pages, and together they end
   * where it ended. */
  TesseraStatus (*map) (TesseraDevice *device,
                        uint64_t addr,
                        uint64_t size_bytes,
                        uint32_t stream);
  void (*unmap) (TesseraDevice *device, uint64_t addr, uint64_t size_bytes);

  /* Waits until all frees that are pending on other streams are done. The device
   * completes each of them at the policy or allocator before it returns (a simulation
   * does so in the recorded order). */
  void (*synchronize) (TesseraDevice *device);

  /* What is left for allocate() and map(), as far as the device says; UINT64_MAX: no end
   * is known. */
  uint64_t (*free_bytes) (TesseraDevice *device);

  /* Nanoseconds, from any beginning on, of the time in which the run was not kept waiting
   * for the device by unmap() or synchronize(). NULL: time stands still. */
  uint64_t (*now_ns) (TesseraDevice *device);

  /* Barriers between streams; NULL, all of them, where the device has none. A mark stands
   * for all that any stream was given so far; NULL: it is not to be had now. ends() looks
   * for so long whether that is done. order() lets what @stream is given from now on wait
   * for it, on the device; returns: whether it does. */
  void *(*mark) (TesseraDevice *device, uint32_t stream); /* for whom it is made */
  void (*forget_mark) (TesseraDevice *device, void *mark);
  bool (*ends) (TesseraDevice *device, void *mark, uint64_t within_ns);
  bool (*order) (TesseraDevice *device, uint32_t stream, void *mark);
};
