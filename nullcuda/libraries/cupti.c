/*
 * CUPTI, which profilers ask for activities of the device: there are none. All of its
 * other calls fail, and PyTorch's profiler goes on with what the host does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "nullcuda/device.h"
#include "nullcuda/settings.h"

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
