/*
 * Functions of the driver asked for by name at run time.
 *
 * cuda.h gives many functions a suffix that programs do not write (cuMemAlloc is
 * cuMemAlloc_v2): the name itself is looked for first, then its latest version.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#include "nullcuda/device.h"
#include "nullcuda/settings.h"

static void *library; /* this one, under whatever name it was loaded */
static pthread_once_t library_once = PTHREAD_ONCE_INIT;

static void
open_library (void)
{
  Dl_info info;
  if (dladdr (&library, &info) != 0)
    library = dlopen (info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void *
find (const char *name)
{
  char versioned[128];
  pthread_once (&library_once, open_library);
  void *function = NULL;
  for (int version = 3; function == NULL && version >= 2; version--)
    {
      snprintf (versioned, sizeof versioned, "%s_v%d", name, version);
      function = dlsym (library, versioned);
    }
  if (function == NULL)
    function = dlsym (library, name);
  if (function == NULL)
    null_log (1, "%s was asked for by name and is not there", name);
  return function;
}

enum
{
  ENTRY_FOUND = 0,
  ENTRY_NOT_FOUND = 1,
};

NULL_API (int,
          cudaGetDriverEntryPoint,
          const char *name,
          void **out_function,
          unsigned long long flags,
          int *out_result)
{
  *out_function = find (name);
  if (out_result != NULL)
    *out_result = *out_function != NULL ? ENTRY_FOUND : ENTRY_NOT_FOUND;
  return NULL_OK;
}

NULL_API (int,
          cudaGetDriverEntryPointByVersion,
          const char *name,
          void **out_function,
          unsigned version,
          unsigned long long flags,
          int *out_result)
{
  return cudaGetDriverEntryPoint (name, out_function, flags, out_result);
}

NULL_API (int,
          cuGetProcAddress_v2,
          const char *name,
          void **out_function,
          int version,
          uint64_t flags,
          int *out_result)
{
  cudaGetDriverEntryPoint (name, out_function, flags, out_result);
  return *out_function != NULL ? NULL_OK
                               : null_fail (NULL_NOT_FOUND, "cuGetProcAddress_v2");
}
