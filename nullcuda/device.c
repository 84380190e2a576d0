/*
 * Devices and what they are, contexts of the driver, functions asked for by name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "nullcuda/properties.h"

static _Thread_local int current;

int
null_device_current (void)
{
  return null_settings ()->refuses ? -1 : current;
}

void
null_device_uuid (int device, char *out_uuid)
{
  snprintf (out_uuid, 16, "null-gpu-%02x", (unsigned) device & 0xff);
}

static bool
is_device (int device)
{
  return device >= 0 && device < null_settings ()->n_devices;
}

NULL_API (int, cudaGetDeviceCount, int *out_n)
{
  *out_n = null_settings ()->n_devices;
  return null_report (*out_n > 0 ? NULL_OK : NULL_NO_DEVICE, __func__);
}

NULL_API (int, cudaGetDevice, int *out_device)
{
  *out_device = current;
  return null_report (null_device_current () >= 0 ? NULL_OK : NULL_NO_DEVICE, __func__);
}

NULL_API (int, cudaSetDevice, int device)
{
  if (!is_device (device))
    return null_report (null_settings ()->refuses ? NULL_NO_DEVICE : NULL_INVALID_DEVICE,
                        __func__);
  current = device;
  return NULL_OK;
}

static int
get_properties (const char *name, char *out, int device, bool is_13)
{
  const NullProfile *p = &null_settings ()->profile;
  if (!is_device (device))
    return null_report (NULL_INVALID_DEVICE, name);
  memset (out, 0, is_13 ? NULL_PROPERTIES_BYTES_13 : NULL_PROPERTIES_BYTES_12);
  snprintf (out, 256, "%s", p->model);
  null_device_uuid (device, out + 256);
#define FIELD(name, offset_12, offset_13, type, value)                                   \
  memcpy (out + (is_13 ? (offset_13) : (offset_12)), &(type){ (type) (value) },          \
          sizeof (type));
  NULL_PROPERTIES (FIELD)
#undef FIELD
  return NULL_OK;
}

/* Programs built for CUDA 13 call it so ... */
NULL_API (int, cudaGetDeviceProperties, void *out, int device)
{
  return get_properties (__func__, out, device, true);
}

/* ... and for CUDA 12 so. */
NULL_API (int, cudaGetDeviceProperties_v2, void *out, int device)
{
  return get_properties (__func__, out, device, false);
}

NULL_API (int, cudaDeviceGetAttribute, int *out_value, int attribute, int device)
{
  const NullProfile *p = &null_settings ()->profile;
  if (!is_device (device))
    return null_report (NULL_INVALID_DEVICE, __func__);
  *out_value = 0;
#define ATTRIBUTE(number, name, value)                                                   \
  if (attribute == (number))                                                             \
    *out_value = (value);
  NULL_ATTRIBUTES (ATTRIBUTE)
  NULL_DRIVER_ATTRIBUTES (ATTRIBUTE)
#undef ATTRIBUTE
  return NULL_OK;
}

NULL_API (int, cudaDeviceGetPCIBusId, char *out_text, int n_bytes, int device)
{
  if (!is_device (device))
    return null_report (NULL_INVALID_DEVICE, __func__);
  snprintf (out_text, (size_t) n_bytes, "0000:%02x:00.0", (unsigned) device + 1);
  return NULL_OK;
}

NULL_API (int, cudaDeviceGetStreamPriorityRange, int *out_least, int *out_greatest)
{
  if (out_least != NULL)
    *out_least = 0;
  if (out_greatest != NULL)
    *out_greatest = -5;
  return NULL_OK;
}

NULL_API (int, cudaDeviceCanAccessPeer, int *out_can, int device, int peer)
{
  if (!is_device (device) || !is_device (peer))
    return null_report (NULL_INVALID_DEVICE, __func__);
  *out_can = 0;
  return NULL_OK;
}

NULL_API (int, cudaDeviceEnablePeerAccess, int peer, unsigned flags)
{
  return null_report (NULL_PEER_ACCESS_UNSUPPORTED, __func__);
}

NULL_API (int, cudaDriverGetVersion, int *out_version)
{
  *out_version = null_settings ()->cuda_version;
  return NULL_OK;
}

NULL_ALSO (cudaRuntimeGetVersion, cudaDriverGetVersion);

/* The driver's devices and contexts. A context is its device's number, plus one. */

NULL_API (int, cuInit, unsigned flags)
{
  return null_report (null_settings ()->refuses ? NULL_NO_DEVICE : NULL_OK, __func__);
}

NULL_ALSO (cuDriverGetVersion, cudaDriverGetVersion);
NULL_ALSO (cuDeviceGetCount, cudaGetDeviceCount);

NULL_API (int, cuDeviceGet, int *out_device, int ordinal)
{
  *out_device = ordinal;
  return null_report (is_device (ordinal) ? NULL_OK : NULL_INVALID_DEVICE, __func__);
}

NULL_API (int, cuDeviceGetName, char *out_name, int n_bytes, int device)
{
  snprintf (out_name, (size_t) n_bytes, "%s", null_settings ()->profile.model);
  return NULL_OK;
}

NULL_API (int, cuDeviceTotalMem_v2, size_t *out_n_bytes, int device)
{
  *out_n_bytes = null_settings ()->profile.total_bytes;
  return NULL_OK;
}

NULL_API (int, cuDeviceGetUuid, char *out_uuid, int device)
{
  memset (out_uuid, 0, 16);
  null_device_uuid (device, out_uuid);
  return NULL_OK;
}

NULL_ALSO (cuDeviceGetUuid_v2, cuDeviceGetUuid);
NULL_ALSO (cuDeviceGetAttribute, cudaDeviceGetAttribute);

NULL_API (
    int, cuDevicePrimaryCtxGetState, int device, unsigned *out_flags, int *out_is_active)
{
  *out_flags = 0;
  *out_is_active = 1;
  return NULL_OK;
}

NULL_API (int, cuDevicePrimaryCtxRetain, void **out_context, int device)
{
  *out_context = (void *) (uintptr_t) (device + 1);
  return NULL_OK;
}

NULL_API (int, cuDevicePrimaryCtxRelease_v2, int device) { return NULL_OK; }

NULL_API (int, cuCtxGetCurrent, void **out_context)
{
  int device = null_device_current ();
  *out_context = (void *) (uintptr_t) (device + 1);
  return null_report (device >= 0 ? NULL_OK : NULL_NO_DEVICE, __func__);
}

NULL_API (int, cuCtxSetCurrent, void *context)
{
  return context == NULL ? NULL_OK : cudaSetDevice ((int) (uintptr_t) context - 1);
}

NULL_API (int, cuCtxGetDevice, int *out_device)
{
  *out_device = null_device_current ();
  return null_report (*out_device >= 0 ? NULL_OK : NULL_NO_DEVICE, __func__);
}

#define MAX_PUSHED 16
static _Thread_local int pushed[MAX_PUSHED];
static _Thread_local int n_pushed;

/* Limits of stacks and of what kernels print, which Triton asks for by name: nothing runs. */
NULL_API (int, cuCtxSetLimit, int limit, size_t n_bytes) { return NULL_OK; }

NULL_API (int, cuCtxGetLimit, size_t *out_n_bytes, int limit)
{
  *out_n_bytes = 0;
  return NULL_OK;
}

NULL_API (int, cuCtxPushCurrent_v2, void *context)
{
  if (n_pushed == MAX_PUSHED)
    return null_report (NULL_OUT_OF_MEMORY, __func__);
  pushed[n_pushed++] = null_device_current ();
  return cuCtxSetCurrent (context);
}

NULL_API (int, cuCtxPopCurrent_v2, void **out_context)
{
  if (out_context != NULL)
    *out_context = (void *) (uintptr_t) (null_device_current () + 1);
  return n_pushed == 0 ? null_report (NULL_INVALID_VALUE, __func__)
                       : cudaSetDevice (pushed[--n_pushed]);
}

/* NVRTC asks for one and goes without. */
NULL_API (int, cuGetExportTable, const void **out_table, const void *id)
{
  *out_table = NULL;
  return null_report (NULL_NOT_FOUND, __func__);
}

/* Functions of the driver asked for by name at run time.
 *
 * cuda.h gives many functions a suffix that programs do not write (cuMemAlloc is
 * cuMemAlloc_v2): the name itself is looked for first, then its latest version. */

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
  return null_report (*out_function != NULL ? NULL_OK : NULL_NOT_FOUND, __func__);
}
