/*
 * Finding the CUDA driver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "allocator/cuda/driver.h"

#include <dlfcn.h>
#include <string.h>

#define DRIVER "libcuda.so.1"

static const struct
{
  const char *symbol;
  size_t offset; /* in CudaDriver */
  bool is_optional;
} calls[] = {
#define CALL(name, symbol, ...) { #symbol, offsetof (CudaDriver, name), false },
#define OPTIONAL(name, symbol, ...) { #symbol, offsetof (CudaDriver, name), true },
  TESSERA_CUDA_CALLS (CALL) TESSERA_CUDA_OPTIONAL_CALLS (OPTIONAL)
#undef OPTIONAL
#undef CALL
};

TesseraStatus
tessera_cuda_find_driver (CudaDriver *driver, TesseraError *error)
{
  void *library = dlopen (DRIVER, RTLD_NOW | RTLD_NOLOAD);

  if (library == NULL)
    library = dlopen (DRIVER, RTLD_NOW);
  if (library == NULL)
    return tessera_fail (error, TESSERA_REFUSED,
                         "there is no CUDA driver on this machine (" DRIVER ")");
  for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
    {
      void *address = dlsym (library, calls[i].symbol);

      if (address == NULL && !calls[i].is_optional)
        return tessera_fail (error, TESSERA_REFUSED,
                             "the CUDA driver (" DRIVER ") lacks %s: a driver of CUDA "
                             "11.2 or later is needed",
                             calls[i].symbol);
      memcpy ((char *) driver + calls[i].offset, &address, sizeof address);
    }
  *(void **) &driver->forget = dlsym (library, "nullcuda_forget");
  *(void **) &driver->virtual_ns = dlsym (library, "nullcuda_now_ns");
  return TESSERA_OK;
}
