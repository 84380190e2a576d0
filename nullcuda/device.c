/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/device.h"

#include <stdio.h>
#include <string.h>

#include "nullcuda/attributes.h"
#include "nullcuda/properties.h"
#include "nullcuda/settings.h"

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
  return *out_n > 0 ? NULL_OK : null_fail (NULL_NO_DEVICE, "cudaGetDeviceCount");
}

NULL_API (int, cudaGetDevice, int *out_device)
{
  *out_device = current;
  return null_device_current () >= 0 ? NULL_OK
                                     : null_fail (NULL_NO_DEVICE, "cudaGetDevice");
}

NULL_API (int, cudaSetDevice, int device)
{
  if (!is_device (device))
    return null_fail (null_settings ()->refuses ? NULL_NO_DEVICE : NULL_INVALID_DEVICE,
                      "cudaSetDevice");
  current = device;
  return NULL_OK;
}

static void
fill_properties_12 (char *out, int device)
{
  const NullProfile *p = &null_settings ()->profile;
#define FIELD(name, offset_12, offset_13, type, value)                                   \
  memcpy (out + (offset_12), &(type){ (type) (value) }, sizeof (type));
  NULL_PROPERTIES (FIELD)
#undef FIELD
}

static void
fill_properties_13 (char *out, int device)
{
  const NullProfile *p = &null_settings ()->profile;
#define FIELD(name, offset_12, offset_13, type, value)                                   \
  memcpy (out + (offset_13), &(type){ (type) (value) }, sizeof (type));
  NULL_PROPERTIES (FIELD)
#undef FIELD
}

static int
get_properties (const char *name,
                char *out,
                size_t n_bytes,
                int device,
                void (*fill) (char *out, int device))
{
  if (!is_device (device))
    return null_fail (NULL_INVALID_DEVICE, name);
  memset (out, 0, n_bytes);
  snprintf (out, 256, "%s", null_settings ()->profile.model);
  null_device_uuid (device, out + 256);
  fill (out, device);
  return NULL_OK;
}

/* Programs built for CUDA 13 call it so ... */
NULL_API (int, cudaGetDeviceProperties, void *out, int device)
{
  return get_properties ("cudaGetDeviceProperties", out, NULL_PROPERTIES_BYTES_13, device,
                         fill_properties_13);
}

/* ... and for CUDA 12 so. */
NULL_API (int, cudaGetDeviceProperties_v2, void *out, int device)
{
  return get_properties ("cudaGetDeviceProperties_v2", out, NULL_PROPERTIES_BYTES_12,
                         device, fill_properties_12);
}

NULL_API (int, cudaDeviceGetAttribute, int *out_value, int attribute, int device)
{
  const NullProfile *p = &null_settings ()->profile;
  if (!is_device (device))
    return null_fail (NULL_INVALID_DEVICE, "cudaDeviceGetAttribute");
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
    return null_fail (NULL_INVALID_DEVICE, "cudaDeviceGetPCIBusId");
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
    return null_fail (NULL_INVALID_DEVICE, "cudaDeviceCanAccessPeer");
  *out_can = 0;
  return NULL_OK;
}

NULL_API (int, cudaDeviceEnablePeerAccess, int peer, unsigned flags)
{
  return null_fail (NULL_PEER_ACCESS_UNSUPPORTED, "cudaDeviceEnablePeerAccess");
}

NULL_API (int, cudaDriverGetVersion, int *out_version)
{
  *out_version = null_settings ()->cuda_version;
  return NULL_OK;
}

NULL_API (int, cudaRuntimeGetVersion, int *out_version)
{
  *out_version = null_settings ()->cuda_version;
  return NULL_OK;
}
