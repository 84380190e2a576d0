/*
 * Private pools: which requests go there, and when their memory may be given back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/device/device-internal.h"

#include "db/array.h"
#include "runtime/process/notice.h"

/* False: no memory, or too many. */
static bool
pool_of (RuntimeDevice *device, TesseraPoolId id, bool adds, uint16_t *out_pool)
{
  size_t n = device->n_pools;

  for (size_t i = 0; i < n; i++)
    if (device->pools[i].id.owner_id == id.owner_id &&
        device->pools[i].id.user_id == id.user_id)
      {
        *out_pool = (uint16_t) i;
        return true;
      }
  if (!adds || n > UINT16_MAX ||
      !TESSERA_RESERVE (device->pools, device->cap_pools, n + 1))
    return false;
  device->pools[n] = (RuntimePool){ .id = id };
  device->n_pools++;
  if (device->recorder != NULL)
    tessera_recorder_pool (device->recorder, (uint32_t) device->ordinal, (uint16_t) n,
                           id);
  *out_pool = (uint16_t) n;
  return true;
}

void
tessera_device_begin_pool (RuntimeDevice *device,
                           TesseraPoolId id,
                           TesseraRecorder *recorder)
{
  uint16_t pool;

  tessera_device_enter (device, recorder);
  if (device->n_routes == MAX_ROUTES || !pool_of (device, id, true, &pool))
    tessera_notice ("A private pool could not be opened, so its requests are served "
                    "from the default one: do not replay graphs captured into it.");
  else
    {
      device->pools[pool].n_users++;
      device->routes[device->n_routes++] = (RuntimeRoute){ pool, pthread_self () };
      tessera_policy_set_routed (device->policy, true);
    }
  tessera_device_unlock (device);
}

/* The latest that this thread opened to the pool, else the latest of all: captures of
 * several threads may share one. n_routes: none is open. */
static size_t
find_route (const RuntimeDevice *device, uint16_t pool)
{
  size_t found = device->n_routes;

  for (size_t i = device->n_routes; i-- > 0;)
    if (device->routes[i].pool == pool)
      {
        if (pthread_equal (device->routes[i].thread, pthread_self ()))
          return i;
        if (found == device->n_routes)
          found = i;
      }
  return found;
}

void
tessera_device_end_pool (RuntimeDevice *device, TesseraPoolId id)
{
  uint16_t pool;
  size_t ended;

  tessera_device_lock (device);
  if (pool_of (device, id, false, &pool))
    {
      ended = find_route (device, pool);
      for (size_t i = ended; i + 1 < device->n_routes; i++)
        device->routes[i] = device->routes[i + 1];
      device->n_routes -= ended < device->n_routes;
      tessera_policy_set_routed (device->policy, device->n_routes != 0);
    }
  tessera_device_unlock (device);
}

void
tessera_device_release_pool (RuntimeDevice *device, TesseraPoolId id)
{
  uint16_t pool;

  tessera_device_lock (device);
  /* The default pool and one that was never used are unknown to the policy. */
  if (pool_of (device, id, false, &pool) && device->pools[pool].n_users != 0 &&
      --device->pools[pool].n_users == 0)
    (void) !tessera_policy_release_pool (device->policy, pool);
  tessera_device_unlock (device);
}

/* The latest pool that this thread opened, else, for a stream that captures, the latest
 * of all: autograd's threads capture for the thread that called them. */
uint16_t
tessera_device_route (RuntimeDevice *device, uint64_t stream_handle)
{
  for (size_t i = device->n_routes; i-- > 0;)
    if (pthread_equal (device->routes[i].thread, pthread_self ()))
      return device->routes[i].pool;
  if (device->n_routes != 0 &&
      tessera_cuda_stream_is_capturing (device->cuda, stream_handle))
    return device->routes[device->n_routes - 1].pool;
  return 0;
}
