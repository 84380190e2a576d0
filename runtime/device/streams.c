/*
 * Streams of a device, numbered by first use; 0 is the default stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include "db/array.h"

static bool
add (RuntimeDevice *device, uint64_t handle, uint16_t *out_stream)
{
  size_t index = device->n_streams;

  if (index > UINT16_MAX ||
      !TESSERA_RESERVE (device->streams, device->cap_streams, index + 1) ||
      (handle != 0 && tessera_table_reserve (&device->stream_of) != TESSERA_OK) ||
      tessera_policy_set_stream_handle (device->policy, (uint32_t) index, handle) !=
          TESSERA_OK)
    return false;
  device->streams[index] = handle;
  device->n_streams++;
  if (handle != 0) /* the table knows no 0 */
    tessera_table_add (&device->stream_of, handle, (void *) (index + 1));
  if (device->recorder != NULL && index != 0)
    tessera_recorder_stream (device->recorder, (uint32_t) device->ordinal,
                             (uint16_t) index, handle);
  *out_stream = (uint16_t) index;
  return true;
}

bool
tessera_device_stream (RuntimeDevice *device, uint64_t handle, uint16_t *out_stream)
{
  size_t found;

  *out_stream = 0;
  if (device->n_streams == 0 && !add (device, 0, out_stream))
    return false;
  if (handle == 0)
    return true;
  if (device->streams[device->last_stream] == handle)
    {
      *out_stream = device->last_stream;
      return true;
    }
  found = (size_t) tessera_table_get (&device->stream_of, handle);
  if (found != 0)
    *out_stream = (uint16_t) (found - 1);
  else if (!add (device, handle, out_stream))
    return false;
  device->last_stream = *out_stream;
  return true;
}
