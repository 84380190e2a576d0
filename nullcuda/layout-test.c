/*
 * Our declarations against the real headers, where a CUDA Toolkit is installed. What is
 * wrong does not compile; the program itself has nothing left to do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>

#include "nullcuda/private.h"
#include "nullcuda/properties.h"

/* The toolkit that is installed is of one version: meson chooses which offsets it shall
 * have. */
#define FIELD(name, offset_12, offset_13, type, value)                                   \
  _Static_assert(offsetof (struct cudaDeviceProp, name) ==                               \
                     OFFSET (offset_12, offset_13),                                      \
                 "cudaDeviceProp." #name);                                               \
  _Static_assert(sizeof (((struct cudaDeviceProp *) 0)->name) == sizeof (type),          \
                 "cudaDeviceProp." #name);
NULL_PROPERTIES (FIELD)
_Static_assert(sizeof (struct cudaDeviceProp) ==
                   OFFSET (NULL_PROPERTIES_BYTES_12, NULL_PROPERTIES_BYTES_13),
               "cudaDeviceProp");

#define ATTRIBUTE(number, name, value)                                                   \
  _Static_assert(cudaDevAttr##name == (number), "cudaDevAttr" #name);
NULL_ATTRIBUTES (ATTRIBUTE)
#undef ATTRIBUTE
#define ATTRIBUTE(number, name, value)                                                   \
  _Static_assert(CU_DEVICE_ATTRIBUTE_##name == (number), "CU_DEVICE_ATTRIBUTE_" #name);
NULL_DRIVER_ATTRIBUTES (ATTRIBUTE)

#define SAME(ours, our_field, theirs, their_field)                                       \
  _Static_assert(offsetof (ours, our_field) == offsetof (theirs, their_field), #our_field)
SAME (NullLaunchConfig, block, cudaLaunchConfig_t, blockDim);
SAME (NullLaunchConfig, shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
SAME (NullLaunchConfig, stream, cudaLaunchConfig_t, stream);
_Static_assert(sizeof (NullLaunchConfig) == sizeof (cudaLaunchConfig_t), "launch");
SAME (NullPointerAttributes, device, struct cudaPointerAttributes, device);
SAME (NullPointerAttributes, device_pointer, struct cudaPointerAttributes, devicePointer);
SAME (NullPointerAttributes, host_pointer, struct cudaPointerAttributes, hostPointer);
SAME (NullFunctionAttributes, n_registers, struct cudaFuncAttributes, numRegs);
SAME (NullFunctionAttributes, binary_version, struct cudaFuncAttributes, binaryVersion);
SAME (NullFunctionAttributes,
      max_dynamic_shared_bytes,
      struct cudaFuncAttributes,
      maxDynamicSharedSizeBytes);
_Static_assert(sizeof (NullFunctionAttributes) == sizeof (struct cudaFuncAttributes),
               "function");
SAME (NullAllocationProp, location, CUmemAllocationProp, location);
SAME (NullAllocationProp, win32_meta, CUmemAllocationProp, win32HandleMetaData);
_Static_assert(sizeof (NullAllocationProp) == sizeof (CUmemAllocationProp), "allocation");
_Static_assert(sizeof (NullDim) == sizeof (dim3), "dim3");

#define ERROR(ours, name) _Static_assert((int) (ours) == (int) (name), #name)
ERROR (NULL_INVALID_VALUE, cudaErrorInvalidValue);
ERROR (NULL_OUT_OF_MEMORY, cudaErrorMemoryAllocation);
ERROR (NULL_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
ERROR (NULL_NO_DEVICE, cudaErrorNoDevice);
ERROR (NULL_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
ERROR (NULL_INVALID_DEVICE, cudaErrorInvalidDevice);
ERROR (NULL_INVALID_CONTEXT, cudaErrorDeviceUninitialized);
ERROR (NULL_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
ERROR (NULL_INVALID_HANDLE, cudaErrorInvalidResourceHandle);
ERROR (NULL_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
ERROR (NULL_NOT_FOUND, cudaErrorSymbolNotFound);
ERROR (NULL_NOT_READY, cudaErrorNotReady);
ERROR (NULL_NOT_READY, CUDA_ERROR_NOT_READY);
ERROR (NULL_ILLEGAL_ADDRESS, cudaErrorIllegalAddress);
ERROR (NULL_PEER_ACCESS_UNSUPPORTED, cudaErrorPeerAccessUnsupported);
ERROR (NULL_HOST_MEMORY_ALREADY_REGISTERED, cudaErrorHostMemoryAlreadyRegistered);
ERROR (NULL_HOST_MEMORY_NOT_REGISTERED, cudaErrorHostMemoryNotRegistered);
ERROR (NULL_NOT_SUPPORTED, cudaErrorNotSupported);
ERROR (NULL_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported);
ERROR (NULL_CAPTURE_UNSUPPORTED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
ERROR (NULL_CAPTURE_INVALIDATED, cudaErrorStreamCaptureInvalidated);
ERROR (NULL_CAPTURE_UNMATCHED, cudaErrorStreamCaptureUnmatched);
ERROR (NULL_CAPTURED_EVENT, cudaErrorCapturedEvent);
ERROR (NULL_MEMORY_MANAGED, cudaMemoryTypeManaged);
ERROR (NULL_MEMORY_DEVICE, cudaMemoryTypeDevice);

int
main (void)
{
  return 0;
}
