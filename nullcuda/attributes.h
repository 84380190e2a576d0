/*
 * Attributes of devices that are answered; others are 0. ATTRIBUTE (number, name, value),
 * where `p` is a NullProfile. Runtime and driver number them alike.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define NULL_ATTRIBUTES(ATTRIBUTE)                                                       \
  ATTRIBUTE (1, MaxThreadsPerBlock, 1024)                                                \
  ATTRIBUTE (2, MaxBlockDimX, 1024)                                                      \
  ATTRIBUTE (3, MaxBlockDimY, 1024)                                                      \
  ATTRIBUTE (4, MaxBlockDimZ, 64)                                                        \
  ATTRIBUTE (5, MaxGridDimX, 2147483647)                                                 \
  ATTRIBUTE (6, MaxGridDimY, 65535)                                                      \
  ATTRIBUTE (7, MaxGridDimZ, 65535)                                                      \
  ATTRIBUTE (8, MaxSharedMemoryPerBlock, 49152)                                          \
  ATTRIBUTE (9, TotalConstantMemory, 65536)                                              \
  ATTRIBUTE (10, WarpSize, 32)                                                           \
  ATTRIBUTE (11, MaxPitch, 2147483647)                                                   \
  ATTRIBUTE (12, MaxRegistersPerBlock, 65536)                                            \
  ATTRIBUTE (13, ClockRate, p->clock_khz)                                                \
  ATTRIBUTE (14, TextureAlignment, 512)                                                  \
  ATTRIBUTE (16, MultiProcessorCount, p->n_multiprocessors)                              \
  ATTRIBUTE (19, CanMapHostMemory, 1)                                                    \
  ATTRIBUTE (31, ConcurrentKernels, 1)                                                   \
  ATTRIBUTE (33, PciBusId, device + 1)                                                   \
  ATTRIBUTE (36, MemoryClockRate, 2619000)                                               \
  ATTRIBUTE (37, GlobalMemoryBusWidth, p->bus_bits)                                      \
  ATTRIBUTE (38, L2CacheSize, p->l2_bytes)                                               \
  ATTRIBUTE (39, MaxThreadsPerMultiProcessor, p->max_threads_per_multiprocessor)         \
  ATTRIBUTE (40, AsyncEngineCount, 3)                                                    \
  ATTRIBUTE (41, UnifiedAddressing, 1)                                                   \
  ATTRIBUTE (75, ComputeCapabilityMajor, p->major)                                       \
  ATTRIBUTE (76, ComputeCapabilityMinor, p->minor)                                       \
  ATTRIBUTE (78, StreamPrioritiesSupported, 1)                                           \
  ATTRIBUTE (81, MaxSharedMemoryPerMultiprocessor, p->shared_bytes_per_multiprocessor)   \
  ATTRIBUTE (82, MaxRegistersPerMultiprocessor, 65536)                                   \
  ATTRIBUTE (83, ManagedMemory, 1)                                                       \
  ATTRIBUTE (95, CooperativeLaunch, 1)                                                   \
  ATTRIBUTE (97, MaxSharedMemoryPerBlockOptin, p->shared_bytes_per_block_optin)          \
  ATTRIBUTE (99, HostRegisterSupported, 1)                                               \
  ATTRIBUTE (106, MaxBlocksPerMultiprocessor, p->max_blocks_per_multiprocessor)          \
  ATTRIBUTE (111, ReservedSharedMemoryPerBlock, 1024)                                    \
  ATTRIBUTE (115, MemoryPoolsSupported, 1)

/* Attributes that only the driver's header names: virtual memory management. */
#define NULL_DRIVER_ATTRIBUTES(ATTRIBUTE)                                                \
  ATTRIBUTE (102, VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1)
