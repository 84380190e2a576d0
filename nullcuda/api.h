/*
 * What the null CUDA shows to the outside: functions under CUDA's own names.
 *
 * Declared here by hand, since the library must build where no CUDA Toolkit is;
 * layout-test.c compares every number below with the real headers where they are
 * installed. Handles are opaque pointers, device addresses are numbers in an address
 * range of our own that nothing on the CPU may follow. The numbers of errors are the same
 * in CUDA's runtime and driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An exported function: declares and begins the definition. */
#define NULL_API(type, name, ...)                                                        \
  __attribute__ ((visibility ("default"))) type name (__VA_ARGS__);                      \
  type name (__VA_ARGS__)

/* Another name of the function @other of the same file: further arguments are not read. */
#define NULL_ALSO(name, other)                                                           \
  extern __typeof__ (other) name __attribute__ ((visibility ("default"), alias (#other)))

enum
{
  NULL_OK = 0,
  NULL_INVALID_VALUE = 1,
  NULL_OUT_OF_MEMORY = 2,
  NULL_NO_DEVICE = 100,
  NULL_INVALID_DEVICE = 101,
  NULL_INVALID_CONTEXT = 201,
  NULL_INVALID_HANDLE = 400,
  NULL_NOT_FOUND = 500,
  NULL_NOT_READY = 600,
  NULL_ILLEGAL_ADDRESS = 700,
  NULL_PEER_ACCESS_UNSUPPORTED = 217,
  NULL_HOST_MEMORY_ALREADY_REGISTERED = 712,
  NULL_HOST_MEMORY_NOT_REGISTERED = 713,
  NULL_NOT_SUPPORTED = 801,
  NULL_CAPTURE_UNSUPPORTED = 900,
  NULL_CAPTURE_INVALIDATED = 901,
  NULL_CAPTURE_UNMATCHED = 903,
  NULL_CAPTURED_EVENT = 907,
};

/* cudaMemcpyKind */
enum
{
  NULL_HOST_TO_HOST = 0,
  NULL_HOST_TO_DEVICE = 1,
  NULL_DEVICE_TO_HOST = 2,
  NULL_DEVICE_TO_DEVICE = 3,
  NULL_COPY_DEFAULT = 4,
};

/* cudaMemoryType */
enum
{
  NULL_MEMORY_UNREGISTERED = 0,
  NULL_MEMORY_HOST = 1,
  NULL_MEMORY_DEVICE = 2,
  NULL_MEMORY_MANAGED = 3,
};

typedef struct
{
  unsigned x, y, z;
} NullDim;

/* cudaLaunchConfig_t: the part that is read. */
typedef struct
{
  NullDim grid, block;
  size_t shared_bytes;
  void *stream;
  void *attributes;
  unsigned n_attributes;
} NullLaunchConfig;

/* cudaFuncAttributes: CUDA 12 and 13 agree. */
typedef struct
{
  size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, n_registers, ptx_version, binary_version, cache_mode;
  int max_dynamic_shared_bytes, preferred_carveout, cluster_must_be_set;
  int cluster_width, cluster_height, cluster_depth, cluster_policy, cluster_non_portable;
  int reserved[16];
} NullFunctionAttributes;

/* cudaPointerAttributes: what CUDA 12 knows; CUDA 13 has eight words more behind it. */
typedef struct
{
  int type, device;
  void *device_pointer, *host_pointer;
} NullPointerAttributes;

/* CUmemLocation and CUmemAllocationProp. */
typedef struct
{
  int type, id;
} NullLocation;

typedef struct
{
  int type, handle_types;
  NullLocation location;
  void *win32_meta;
  unsigned char flags[8];
} NullAllocationProp;
