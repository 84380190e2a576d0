/*
 * The driver's devices and contexts. A context is its device's number, plus one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "nullcuda/device.h"
#include "nullcuda/settings.h"

int cudaSetDevice (int device);
int cudaGetDeviceCount (int *out_n);
int cudaDeviceGetAttribute (int *out_value, int attribute, int device);

NULL_API (int, cuInit, unsigned flags)
{
  return null_settings ()->refuses ? null_fail (NULL_NO_DEVICE, "cuInit") : NULL_OK;
}

NULL_API (int, cuDriverGetVersion, int *out_version)
{
  *out_version = null_settings ()->cuda_version;
  return NULL_OK;
}

NULL_API (int, cuDeviceGetCount, int *out_n) { return cudaGetDeviceCount (out_n); }

NULL_API (int, cuDeviceGet, int *out_device, int ordinal)
{
  *out_device = ordinal;
  return ordinal >= 0 && ordinal < null_settings ()->n_devices
             ? NULL_OK
             : null_fail (NULL_INVALID_DEVICE, "cuDeviceGet");
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

NULL_API (int, cuDeviceGetUuid_v2, char *out_uuid, int device)
{
  return cuDeviceGetUuid (out_uuid, device);
}

NULL_API (int, cuDeviceGetAttribute, int *out_value, int attribute, int device)
{
  return cudaDeviceGetAttribute (out_value, attribute, device);
}

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
  return device >= 0 ? NULL_OK : null_fail (NULL_NO_DEVICE, "cuCtxGetCurrent");
}

NULL_API (int, cuCtxSetCurrent, void *context)
{
  return context == NULL ? NULL_OK : cudaSetDevice ((int) (uintptr_t) context - 1);
}

NULL_API (int, cuCtxGetDevice, int *out_device)
{
  *out_device = null_device_current ();
  return *out_device >= 0 ? NULL_OK : null_fail (NULL_NO_DEVICE, "cuCtxGetDevice");
}

#define MAX_PUSHED 16
static _Thread_local int pushed[MAX_PUSHED];
static _Thread_local int n_pushed;

NULL_API (int, cuCtxPushCurrent_v2, void *context)
{
  if (n_pushed == MAX_PUSHED)
    return null_fail (NULL_OUT_OF_MEMORY, "cuCtxPushCurrent_v2");
  pushed[n_pushed++] = null_device_current ();
  return cuCtxSetCurrent (context);
}

NULL_API (int, cuCtxPopCurrent_v2, void **out_context)
{
  if (out_context != NULL)
    *out_context = (void *) (uintptr_t) (null_device_current () + 1);
  return n_pushed == 0 ? null_fail (NULL_INVALID_VALUE, "cuCtxPopCurrent_v2")
                       : cudaSetDevice (pushed[--n_pushed]);
}

/* NVRTC asks for one and goes without. */
NULL_API (int, cuGetExportTable, const void **out_table, const void *id)
{
  *out_table = NULL;
  return null_fail (NULL_NOT_FOUND, "cuGetExportTable");
}
