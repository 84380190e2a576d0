/*
 * Kernels: they compute nothing and take modelled time on their stream.
 *
 * A kernel takes 2.5 us, and 0.016 ns for each of its threads: two reads and writes of
 * eight bytes at 3 TB/s, which fits the elementwise kernels that most launches are. One
 * with 32 KiB or more of shared memory is a tiled product or attention: 20 us for each
 * wave of blocks.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/device.h"
#include "nullcuda/remembered.h"
#include "nullcuda/settings.h"
#include "nullcuda/streams/stream.h"

#define KERNEL_NS 2500.0
#define THREAD_NS 0.016
#define TILED_SHARED_BYTES 32768
#define WAVE_NS 20000.0

static int
launch (const char *name, NullDim grid, NullDim block, size_t shared_bytes, void *stream)
{
  null_remembered_age ();
  double n_blocks = (double) grid.x * grid.y * grid.z;
  double n_threads = n_blocks * block.x * block.y * block.z;
  double work_ns = shared_bytes >= TILED_SHARED_BYTES
                       ? n_blocks / null_settings ()->profile.n_multiprocessors * WAVE_NS
                       : n_threads * THREAD_NS;
  return null_submit (name, stream, KERNEL_NS + work_ns);
}

NULL_API (int,
          cudaLaunchKernel,
          const void *function,
          NullDim grid,
          NullDim block,
          void **arguments,
          size_t shared_bytes,
          void *stream)
{
  return launch ("cudaLaunchKernel", grid, block, shared_bytes, stream);
}

NULL_API (int,
          __cudaLaunchKernel,
          const void *function,
          NullDim grid,
          NullDim block,
          void **arguments,
          size_t shared_bytes,
          void *stream)
{
  return launch ("__cudaLaunchKernel", grid, block, shared_bytes, stream);
}

NULL_API (int,
          cudaLaunchCooperativeKernel,
          const void *function,
          NullDim grid,
          NullDim block,
          void **arguments,
          size_t shared_bytes,
          void *stream)
{
  return launch ("cudaLaunchCooperativeKernel", grid, block, shared_bytes, stream);
}

NULL_API (int,
          cudaLaunchKernelExC,
          const NullLaunchConfig *config,
          const void *function,
          void **arguments)
{
  return launch ("cudaLaunchKernelExC", config->grid, config->block, config->shared_bytes,
                 config->stream);
}

NULL_API (int,
          cuLaunchKernel,
          void *function,
          unsigned grid_x,
          unsigned grid_y,
          unsigned grid_z,
          unsigned block_x,
          unsigned block_y,
          unsigned block_z,
          unsigned shared_bytes,
          void *stream,
          void **arguments,
          void **extra)
{
  return launch ("cuLaunchKernel", (NullDim){ grid_x, grid_y, grid_z },
                 (NullDim){ block_x, block_y, block_z }, shared_bytes, stream);
}

NULL_API (int,
          cuLaunchCooperativeKernel,
          void *function,
          unsigned grid_x,
          unsigned grid_y,
          unsigned grid_z,
          unsigned block_x,
          unsigned block_y,
          unsigned block_z,
          unsigned shared_bytes,
          void *stream,
          void **arguments)
{
  return launch ("cuLaunchCooperativeKernel", (NullDim){ grid_x, grid_y, grid_z },
                 (NullDim){ block_x, block_y, block_z }, shared_bytes, stream);
}

/* kernel<<<grid, block, shared, stream>>>() pushes its configuration, calls a stub that
 * the compiler made, and that one pops it. They nest where arguments launch kernels. */
typedef struct
{
  NullDim grid, block;
  size_t shared_bytes;
  void *stream;
} Configuration;

#define MAX_NESTED 16
static _Thread_local Configuration configurations[MAX_NESTED];
static _Thread_local unsigned n_configurations;

NULL_API (unsigned,
          __cudaPushCallConfiguration,
          NullDim grid,
          NullDim block,
          size_t shared_bytes,
          void *stream)
{
  if (n_configurations == MAX_NESTED)
    return 1;
  configurations[n_configurations++] =
      (Configuration){ grid, block, shared_bytes, stream };
  return 0;
}

NULL_API (int,
          __cudaPopCallConfiguration,
          NullDim *out_grid,
          NullDim *out_block,
          size_t *out_shared_bytes,
          void **out_stream)
{
  if (n_configurations == 0)
    return null_fail (NULL_INVALID_VALUE, "__cudaPopCallConfiguration");
  const Configuration *configuration = &configurations[--n_configurations];
  *out_grid = configuration->grid;
  *out_block = configuration->block;
  *out_shared_bytes = configuration->shared_bytes;
  *out_stream = configuration->stream;
  return NULL_OK;
}
