/*
 * Kernels and modules as a program registers them and asks about them, and the launches of
 * kernels.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "nullcuda/private.h"

#define REGISTERS_PER_THREAD 64
#define BLOCKS_PER_MULTIPROCESSOR 2

static char module; /* every module and library is this one */

/* Of the code that runs. Nobody builds PyTorch for 8.9: such a device runs what is made
 * for 8.6, and CUB refuses a version that it was not compiled for. */
static int
binary_version (void)
{
  const NullProfile *profile = &null_settings ()->profile;
  int version = 10 * profile->major + profile->minor;
  return version == 89 ? 86 : version;
}

NULL_API (void **, __cudaRegisterFatBinary, void *binary)
{
  static void *handle[2];
  return handle;
}

NULL_API (int, __cudaGetKernel, const void **out_kernel, const void *function)
{
  *out_kernel = function;
  return NULL_OK;
}

NULL_API (int, cudaFuncGetAttributes, NullFunctionAttributes *out, const void *function)
{
  memset (out, 0, sizeof *out);
  out->max_threads_per_block = 1024;
  out->n_registers = REGISTERS_PER_THREAD;
  out->ptx_version = out->binary_version = binary_version ();
  out->max_dynamic_shared_bytes = null_settings ()->profile.shared_bytes_per_block_optin;
  return NULL_OK;
}

NULL_API (int, cudaOccupancyMaxActiveBlocksPerMultiprocessor, int *out_n)
{
  *out_n = BLOCKS_PER_MULTIPROCESSOR;
  return NULL_OK;
}

NULL_ALSO (cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
           cudaOccupancyMaxActiveBlocksPerMultiprocessor);
NULL_ALSO (cuOccupancyMaxActiveBlocksPerMultiprocessor,
           cudaOccupancyMaxActiveBlocksPerMultiprocessor);

NULL_API (int, cuModuleLoadData, void **out_module, const void *image)
{
  *out_module = &module;
  return NULL_OK;
}

NULL_ALSO (cuModuleLoadDataEx, cuModuleLoadData);
NULL_ALSO (cuModuleLoad, cuModuleLoadData);

NULL_API (int, cuModuleUnload, void *handle) { return NULL_OK; }

NULL_ALSO (cuModuleGetFunction, cuModuleLoadData);

/* Kernels compute nothing and take modelled time on their stream.
 *
 * A kernel takes 2.5 us, and 0.016 ns for each of its threads: two reads and writes of
 * eight bytes at 3 TB/s, which fits the elementwise kernels that most launches are. One
 * with 32 KiB or more of shared memory is a tiled product or attention: 20 us for each
 * wave of blocks. */

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
  return launch (__func__, grid, block, shared_bytes, stream);
}

NULL_ALSO (__cudaLaunchKernel, cudaLaunchKernel);
NULL_ALSO (cudaLaunchCooperativeKernel, cudaLaunchKernel);

NULL_API (int, cudaLaunchKernelExC, const NullLaunchConfig *config)
{
  return launch (__func__, config->grid, config->block, config->shared_bytes,
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
          void *stream)
{
  return launch (__func__, (NullDim){ grid_x, grid_y, grid_z },
                 (NullDim){ block_x, block_y, block_z }, shared_bytes, stream);
}

NULL_ALSO (cuLaunchCooperativeKernel, cuLaunchKernel);

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
    return null_report (NULL_INVALID_VALUE, __func__);
  const Configuration *configuration = &configurations[--n_configurations];
  *out_grid = configuration->grid;
  *out_block = configuration->block;
  *out_shared_bytes = configuration->shared_bytes;
  *out_stream = configuration->stream;
  return NULL_OK;
}
