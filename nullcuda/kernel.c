/*
 * Kernels, modules and symbols as a program registers them and asks about them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <string.h>

#include "nullcuda/device.h"
#include "nullcuda/memory/memory.h"
#include "nullcuda/settings.h"

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

/* CUfunction_attribute */
enum
{
  MAX_THREADS_PER_BLOCK = 0,
  NUM_REGS = 4,
  PTX_VERSION = 5,
  BINARY_VERSION = 6,
  MAX_DYNAMIC_SHARED_BYTES = 8,
};

NULL_API (int, cuFuncGetAttribute, int *out_value, int attribute, void *function)
{
  switch (attribute)
    {
    case MAX_THREADS_PER_BLOCK:
      *out_value = 1024;
      break;
    case NUM_REGS:
      *out_value = REGISTERS_PER_THREAD;
      break;
    case PTX_VERSION:
    case BINARY_VERSION:
      *out_value = binary_version ();
      break;
    case MAX_DYNAMIC_SHARED_BYTES:
      *out_value = null_settings ()->profile.shared_bytes_per_block_optin;
      break;
    default:
      *out_value = 0;
    }
  return NULL_OK;
}

NULL_API (
    int, cuKernelGetAttribute, int *out_value, int attribute, void *kernel, int device)
{
  return cuFuncGetAttribute (out_value, attribute, kernel);
}

NULL_API (int,
          cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
          int *out_n,
          const void *function,
          int n_threads,
          size_t shared_bytes,
          unsigned flags)
{
  *out_n = BLOCKS_PER_MULTIPROCESSOR;
  return NULL_OK;
}

NULL_API (int,
          cudaOccupancyMaxActiveBlocksPerMultiprocessor,
          int *out_n,
          const void *function,
          int n_threads,
          size_t shared_bytes)
{
  *out_n = BLOCKS_PER_MULTIPROCESSOR;
  return NULL_OK;
}

NULL_API (int,
          cuOccupancyMaxActiveBlocksPerMultiprocessor,
          int *out_n,
          void *function,
          int n_threads,
          size_t shared_bytes)
{
  *out_n = BLOCKS_PER_MULTIPROCESSOR;
  return NULL_OK;
}

NULL_API (int, cuModuleLoadData, void **out_module, const void *image)
{
  *out_module = &module;
  return NULL_OK;
}

NULL_API (int,
          cuModuleLoadDataEx,
          void **out_module,
          const void *image,
          unsigned n_options,
          int *options,
          void **values)
{
  *out_module = &module;
  return NULL_OK;
}

NULL_API (int, cuModuleLoad, void **out_module, const char *path)
{
  *out_module = &module;
  return NULL_OK;
}

NULL_API (int, cuModuleUnload, void *handle) { return NULL_OK; }

NULL_API (int, cuModuleGetFunction, void **out_function, void *handle, const char *name)
{
  *out_function = &module;
  return NULL_OK;
}

#define SYMBOL_BYTES UINT64_C (4096)
#define ALL_SYMBOLS_BYTES (UINT64_C (64) << 20)

static uint64_t symbols_addr;
static pthread_once_t symbols_once = PTHREAD_ONCE_INIT;

static void
reserve_symbols (void)
{
  if (null_memory_reserve (ALL_SYMBOLS_BYTES, 0, 0, &symbols_addr) != NULL_OK)
    symbols_addr = 0;
}

/* Variables of kernels have addresses outside the budget, as the driver's module memory
 * has, and no content: two of them may share an address. */
NULL_API (int, cudaGetSymbolAddress, void **out_addr, const void *symbol)
{
  pthread_once (&symbols_once, reserve_symbols);
  *out_addr = NULL;
  if (symbols_addr == 0)
    return null_fail (NULL_OUT_OF_MEMORY, "cudaGetSymbolAddress");
  *out_addr =
      (void *) (symbols_addr +
                (uint64_t) symbol % (ALL_SYMBOLS_BYTES / SYMBOL_BYTES) * SYMBOL_BYTES);
  return NULL_OK;
}
