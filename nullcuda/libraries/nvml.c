/*
 * NVML: as much as PyTorch's allocator, torch.cuda and what programs log ask for.
 *
 * A device's handle is its number, plus one.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <string.h>

#include "nullcuda/private.h"

enum
{
  NVML_INVALID_ARGUMENT = 2,
  NVML_NOT_SUPPORTED = 3,
  NVML_NOT_FOUND = 6,
  NVML_DRIVER_NOT_LOADED = 9,
};

NULL_API (int, nvmlInit_v2, void)
{
  return null_settings ()->refuses ? NVML_DRIVER_NOT_LOADED : NULL_OK;
}

NULL_ALSO (nvmlInit, nvmlInit_v2);
NULL_ALSO (nvmlInitWithFlags, nvmlInit_v2);

NULL_API (int, nvmlShutdown, void) { return NULL_OK; }

NULL_API (const char *, nvmlErrorString, int error)
{
  return error == NULL_OK ? "Success" : "Not supported by the null CUDA";
}

NULL_API (int, nvmlSystemGetCudaDriverVersion_v2, int *out_version)
{
  *out_version = null_settings ()->cuda_version;
  return NULL_OK;
}

NULL_ALSO (nvmlSystemGetCudaDriverVersion, nvmlSystemGetCudaDriverVersion_v2);

/* The driver that came with CUDA 13.0, which serves programs of CUDA 12 as well. */
NULL_API (int, nvmlSystemGetDriverVersion, char *out_text, unsigned n_bytes)
{
  snprintf (out_text, n_bytes, "580.65.06");
  return NULL_OK;
}

NULL_API (int, nvmlDeviceGetCount_v2, unsigned *out_n)
{
  *out_n = (unsigned) null_settings ()->n_devices;
  return NULL_OK;
}

NULL_ALSO (nvmlDeviceGetCount, nvmlDeviceGetCount_v2);

NULL_API (int, nvmlDeviceGetHandleByIndex_v2, unsigned index, void **out_device)
{
  *out_device = (void *) (uintptr_t) (index + 1);
  return index < (unsigned) null_settings ()->n_devices ? NULL_OK : NVML_INVALID_ARGUMENT;
}

NULL_ALSO (nvmlDeviceGetHandleByIndex, nvmlDeviceGetHandleByIndex_v2);

/* As cudaDeviceGetPCIBusId() writes it: the bus is the device's number, plus one. */
NULL_API (int, nvmlDeviceGetHandleByPciBusId_v2, const char *text, void **out_device)
{
  unsigned domain, bus;
  if (sscanf (text, "%x:%x:", &domain, &bus) != 2 || bus == 0 ||
      bus > (unsigned) null_settings ()->n_devices)
    return NVML_NOT_FOUND;
  *out_device = (void *) (uintptr_t) bus;
  return NULL_OK;
}

NULL_API (int, nvmlDeviceGetName, void *device, char *out_name, unsigned n_bytes)
{
  snprintf (out_name, n_bytes, "%s", null_settings ()->profile.model);
  return NULL_OK;
}

NULL_API (int, nvmlDeviceGetUUID, void *device, char *out_text, unsigned n_bytes)
{
  snprintf (out_text, n_bytes, "GPU-6e756c6c-2d67-7075-2d%02x-000000000000",
            (unsigned) (uintptr_t) device);
  return NULL_OK;
}

/* nvmlMemory_t. */
typedef struct
{
  unsigned long long total_bytes, free_bytes, used_bytes;
} Memory;

/* nvmlMemory_v2_t. */
typedef struct
{
  unsigned version;
  unsigned long long total_bytes, reserved_bytes, free_bytes, used_bytes;
} MemoryV2;

/* DeepSpeed asks for it, and so does torch.cuda.device_memory_used(). */
NULL_API (int, nvmlDeviceGetMemoryInfo, void *device, Memory *out_memory)
{
  size_t free_bytes, total_bytes;

  null_memory_info ((int) (uintptr_t) device - 1, &free_bytes, &total_bytes);
  *out_memory = (Memory){ total_bytes, free_bytes, total_bytes - free_bytes };
  return NULL_OK;
}

NULL_API (int, nvmlDeviceGetMemoryInfo_v2, void *device, MemoryV2 *inout_memory)
{
  size_t free_bytes, total_bytes;

  null_memory_info ((int) (uintptr_t) device - 1, &free_bytes, &total_bytes);
  *inout_memory = (MemoryV2){ inout_memory->version, total_bytes, 0, free_bytes,
                              total_bytes - free_bytes };
  return NULL_OK;
}

/* Programs log how busy, how warm and how fast a device is, and end where nobody says: the
 * null device is idle, and runs no process that a message could name. */
NULL_API (int, nvmlDeviceGetUtilizationRates, void *device, unsigned out_percent[2])
{
  out_percent[0] = out_percent[1] = 0; /* kernels; memory */
  return NULL_OK;
}

/* A call that tells one number of a device. */
#define NUMBER(name, type, number)                                                       \
  NULL_API (int, name, void *device, type *out_number)                                   \
  {                                                                                      \
    *out_number = (type) (number);                                                       \
    return NULL_OK;                                                                      \
  }

/* And one that is asked for a kind of it: a sensor, a clock, a direction. */
#define NUMBER_OF_KIND(name, number)                                                     \
  NULL_API (int, name, void *device, int kind, unsigned *out_number)                     \
  {                                                                                      \
    *out_number = (unsigned) (number);                                                   \
    return NULL_OK;                                                                      \
  }

NUMBER_OF_KIND (nvmlDeviceGetTemperature, 30) /* degrees Celsius */
NUMBER_OF_KIND (nvmlDeviceGetClockInfo, null_settings ()->profile.clock_khz / 1000)
NULL_ALSO (nvmlDeviceGetMaxClockInfo, nvmlDeviceGetClockInfo);
NUMBER_OF_KIND (nvmlDeviceGetPcieThroughput, 0)
NUMBER (nvmlDeviceGetPowerUsage, unsigned, 50000) /* milliwatts */
NUMBER (nvmlDeviceGetEnforcedPowerLimit, unsigned, 700000)
NULL_ALSO (nvmlDeviceGetPowerManagementLimit, nvmlDeviceGetEnforcedPowerLimit);
NUMBER (nvmlDeviceGetTotalEnergyConsumption, unsigned long long, 0)
NUMBER (nvmlDeviceGetPerformanceState, unsigned, 0)
NULL_ALSO (nvmlDeviceGetComputeMode, nvmlDeviceGetPerformanceState);
NUMBER (nvmlDeviceGetIndex, unsigned, (uintptr_t) device - 1)
NUMBER (nvmlDeviceGetComputeRunningProcesses, unsigned, 0)
NULL_ALSO (nvmlDeviceGetComputeRunningProcesses_v3, nvmlDeviceGetComputeRunningProcesses);
NULL_ALSO (nvmlDeviceGetGraphicsRunningProcesses_v3,
           nvmlDeviceGetComputeRunningProcesses);

NULL_API (
    int, nvmlDeviceGetCudaComputeCapability, void *device, int *out_major, int *out_minor)
{
  *out_major = null_settings ()->profile.major;
  *out_minor = null_settings ()->profile.minor;
  return NULL_OK;
}

/* nvmlGpuFabricInfo_v2_t begins so, and v3 too: the caller set the version. */
typedef struct
{
  unsigned version;
  unsigned char cluster_uuid[16];
  int status;
  unsigned clique_id;
  unsigned char state; /* 0: not supported */
} FabricInfo;

NULL_API (int, nvmlDeviceGetGpuFabricInfoV, void *device, FabricInfo *out_info)
{
  memset (out_info->cluster_uuid, 0, sizeof out_info->cluster_uuid);
  out_info->status = NVML_NOT_SUPPORTED;
  out_info->clique_id = 0;
  out_info->state = 0;
  return NULL_OK;
}

/* CUPTI, which profilers ask for activities of the device: there are none. All of its
 * other calls fail, and PyTorch's profiler goes on with what the host does. */

NULL_API (int, cuptiGetVersion, unsigned *out_version)
{
  *out_version = (unsigned) null_settings ()->cuda_version * 10;
  return NULL_OK;
}

NULL_API (int, cuptiGetResultString, int result, const char **out_text)
{
  const char *text = null_unsupported_text ();
  *out_text = text != NULL ? text : "CUPTI_RESULT";
  return NULL_OK;
}
