/*
 * cudaDeviceProp: where CUDA 12 and CUDA 13 keep what is answered, and what is answered.
 *
 * FIELD (name, offset in CUDA 12, offset in CUDA 13, type, value), where `p` is a
 * NullProfile. CUDA 13 dropped fields, so that most offsets differ. layout-test.c
 * compares all of it with the real headers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define NULL_PROPERTIES_BYTES_12 1032
#define NULL_PROPERTIES_BYTES_13 1008

#define NULL_PROPERTIES(FIELD)                                                           \
  FIELD (totalGlobalMem, 288, 288, size_t, p->total_bytes)                               \
  FIELD (sharedMemPerBlock, 296, 296, size_t, 49152)                                     \
  FIELD (regsPerBlock, 304, 304, int, 65536)                                             \
  FIELD (warpSize, 308, 308, int, 32)                                                    \
  FIELD (maxThreadsPerBlock, 320, 320, int, 1024)                                        \
  FIELD (maxThreadsDim[0], 324, 324, int, 1024)                                          \
  FIELD (maxThreadsDim[1], 328, 328, int, 1024)                                          \
  FIELD (maxThreadsDim[2], 332, 332, int, 64)                                            \
  FIELD (maxGridSize[0], 336, 336, int, 2147483647)                                      \
  FIELD (maxGridSize[1], 340, 340, int, 65535)                                           \
  FIELD (maxGridSize[2], 344, 344, int, 65535)                                           \
  FIELD (totalConstMem, 352, 352, size_t, 65536)                                         \
  FIELD (major, 360, 360, int, p->major)                                                 \
  FIELD (minor, 364, 364, int, p->minor)                                                 \
  FIELD (multiProcessorCount, 388, 384, int, p->n_multiprocessors)                       \
  FIELD (pciBusID, 584, 568, int, device + 1)                                            \
  FIELD (unifiedAddressing, 604, 588, int, 1)                                            \
  FIELD (memoryBusWidth, 612, 592, int, p->bus_bits)                                     \
  FIELD (l2CacheSize, 616, 596, int, p->l2_bytes)                                        \
  FIELD (maxThreadsPerMultiProcessor, 624, 604, int, p->max_threads_per_multiprocessor)  \
  FIELD (streamPrioritiesSupported, 628, 608, int, 1)                                    \
  FIELD (sharedMemPerMultiprocessor, 640, 624, size_t,                                   \
         p->shared_bytes_per_multiprocessor)                                             \
  FIELD (regsPerMultiprocessor, 648, 632, int, 65536)                                    \
  FIELD (managedMemory, 652, 636, int, 1)                                                \
  FIELD (cooperativeLaunch, 688, 668, int, 1)                                            \
  FIELD (sharedMemPerBlockOptin, 696, 672, size_t, p->shared_bytes_per_block_optin)      \
  FIELD (maxBlocksPerMultiProcessor, 712, 688, int, p->max_blocks_per_multiprocessor)    \
  FIELD (reservedSharedMemPerBlock, 720, 696, size_t, 1024)                              \
  FIELD (clusterLaunch, 772, 748, int, p->major >= 9)

/* Attributes of devices that are answered; others are 0. ATTRIBUTE (number, name, value),
 * where `p` is a NullProfile. Runtime and driver number them alike. */
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
  ATTRIBUTE (12, MaxRegistersPerBlock, 65536)                                            \
  ATTRIBUTE (13, ClockRate, p->clock_khz)                                                \
  ATTRIBUTE (16, MultiProcessorCount, p->n_multiprocessors)                              \
  ATTRIBUTE (33, PciBusId, device + 1)                                                   \
  ATTRIBUTE (36, MemoryClockRate, 2619000)                                               \
  ATTRIBUTE (37, GlobalMemoryBusWidth, p->bus_bits)                                      \
  ATTRIBUTE (38, L2CacheSize, p->l2_bytes)                                               \
  ATTRIBUTE (39, MaxThreadsPerMultiProcessor, p->max_threads_per_multiprocessor)         \
  ATTRIBUTE (41, UnifiedAddressing, 1)                                                   \
  ATTRIBUTE (75, ComputeCapabilityMajor, p->major)                                       \
  ATTRIBUTE (76, ComputeCapabilityMinor, p->minor)                                       \
  ATTRIBUTE (78, StreamPrioritiesSupported, 1)                                           \
  ATTRIBUTE (81, MaxSharedMemoryPerMultiprocessor, p->shared_bytes_per_multiprocessor)   \
  ATTRIBUTE (82, MaxRegistersPerMultiprocessor, 65536)                                   \
  ATTRIBUTE (83, ManagedMemory, 1)                                                       \
  ATTRIBUTE (95, CooperativeLaunch, 1)                                                   \
  ATTRIBUTE (97, MaxSharedMemoryPerBlockOptin, p->shared_bytes_per_block_optin)          \
  ATTRIBUTE (106, MaxBlocksPerMultiprocessor, p->max_blocks_per_multiprocessor)          \
  ATTRIBUTE (111, ReservedSharedMemoryPerBlock, 1024)

/* Attributes that only the driver's header names: virtual memory management. */
#define NULL_DRIVER_ATTRIBUTES(ATTRIBUTE)                                                \
  ATTRIBUTE (102, VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1)
