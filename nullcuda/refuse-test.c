/*
 * What is refused: everything beside a real driver, and by name what is not supported.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <glib.h>
#include <string.h>

#include "nullcuda/private.h"
#include "nullcuda/test-calls.h"

/* The linker sends access() here: whether a real driver is seen is for the test to say.
 */
static bool has_real_driver;
int __wrap_access (const char *path, int mode);

int
__wrap_access (const char *path, int mode)
{
  g_assert_true (g_str_has_prefix (path, "/dev/nvidia") ||
                 g_str_has_prefix (path, "/proc/"));
  return has_real_driver ? 0 : -1;
}

/* Settings are read once: each test runs in a process of its own. Returns: whether this is
 * it; else it ran, and all that it said on stderr matches @said. */
static bool
is_child (const char *said)
{
  if (g_test_subprocess ())
    return true;
  g_test_trap_subprocess (NULL, 0, 0);
  g_test_trap_assert_passed ();
  g_test_trap_assert_stderr (said);
  return false;
}

/* Sizes mean what they mean everywhere, db/size-text.h. */
static void
test_size_of_device (void)
{
  size_t free_bytes = 0, total_bytes = 0;

  if (!is_child (""))
    return;
  g_setenv ("NULLCUDA_DEVICE", "24 GB", TRUE);
  OK (cudaMemGetInfo (&free_bytes, &total_bytes));
  g_assert_cmpuint (total_bytes, ==, G_GUINT64_CONSTANT (24000000000));
}

static void
test_beside_a_real_driver (void)
{
  int n = -1;
  void *memory = &n;

  if (!is_child ("nullcuda: *real NVIDIA driver*NULLCUDA_FORCE=1*"))
    return;
  has_real_driver = true;
  g_assert_cmpint (cudaGetDeviceCount (&n), ==, NULL_NO_DEVICE);
  g_assert_cmpint (n, ==, 0);
  g_assert_cmpint (cuInit (0), ==, NULL_NO_DEVICE);
  g_assert_cmpint (cudaMalloc (&memory, 1), ==, NULL_NO_DEVICE);
  g_assert_null (memory);
  g_assert_cmpint (cudaHostAlloc (&memory, 1, 0), ==, NULL_NO_DEVICE);
  g_assert_cmpint (cudaStreamQuery (NULL), !=, NULL_OK);
  g_assert_cmpint ((int) nvmlInit_v2 (), ==, 9);
}

static void
test_unless_insisted (void)
{
  int n = -1;

  if (!is_child (""))
    return;
  has_real_driver = true;
  g_setenv ("NULLCUDA_FORCE", "1", TRUE);
  g_setenv ("NULLCUDA_COUNT", "3", TRUE);
  OK (cudaGetDeviceCount (&n));
  g_assert_cmpint (n, ==, 3);
}

static void
test_by_name (void)
{
  if (!is_child ("nullcuda: cudaIpcGetMemHandle*\nnullcuda: cusparseCreate*\n"))
    {
      g_test_trap_assert_stderr_unmatched ("*cusparseCreate*cusparseCreate*");
      return;
    }
  g_setenv ("NULLCUDA_LOG", "1", TRUE);
  g_assert_cmpint (cudaIpcGetMemHandle (), ==, NULL_NOT_SUPPORTED);
  g_assert_cmpint (cudaGetLastError (), ==, NULL_NOT_SUPPORTED);
  g_assert_nonnull (
      strstr (cudaGetErrorString (NULL_NOT_SUPPORTED), "cudaIpcGetMemHandle"));
  g_assert_cmpint (cusparseCreate (), ==, 10);
  g_assert_cmpint (cusparseCreate (), ==, 10);
  OK (cudaGetLastError ()); /* another library's failure */
}

static void
test_wrong_settings (void)
{
  if (!is_child ("*NULLCUDA_COUNT=99*NULLCUDA_DEVICE=h100:*NULLCUDA_BUDGET=-5GiB*"))
    return;
  g_setenv ("NULLCUDA_DEVICE", "h100", TRUE);
  g_setenv ("NULLCUDA_BUDGET", "-5GiB", TRUE);
  g_setenv ("NULLCUDA_COUNT", "99", TRUE);
  g_assert_cmpint (null_settings ()->n_devices, ==, 1);
  g_assert_cmpuint (null_settings ()->budget_bytes, ==,
                    null_profile_find ("h100-80")->total_bytes);
}

/* Each profile answers in both layouts; a size is taken exactly. */
static void
test_profiles (void)
{
  char properties[1032];
  uint64_t total_bytes;

  if (!is_child (""))
    return;
  g_setenv ("NULLCUDA_DEVICE", "24GiB", TRUE);
  g_setenv ("NULLCUDA_BUDGET", "512GiB", TRUE);
  OK (cudaGetDeviceProperties (properties, 0));
  memcpy (&total_bytes, properties + 288, sizeof total_bytes);
  g_assert_cmpuint (total_bytes, ==, UINT64_C (24) << 30);
  OK (cudaGetDeviceProperties_v2 (properties, 0));
  memcpy (&total_bytes, properties + 288, sizeof total_bytes);
  g_assert_cmpuint (total_bytes, ==, UINT64_C (24) << 30);
  g_assert_cmpint (cudaGetDeviceProperties (properties, 1), ==, NULL_INVALID_DEVICE);
  g_assert_cmpuint (null_settings ()->budget_bytes, ==, UINT64_C (512) << 30);
}

int
main (int argc, char **argv)
{
  g_test_init (&argc, &argv, NULL);
  g_test_add_func ("/refuse/beside-a-real-driver", test_beside_a_real_driver);
  g_test_add_func ("/refuse/size-of-device", test_size_of_device);
  g_test_add_func ("/refuse/unless-insisted", test_unless_insisted);
  g_test_add_func ("/refuse/by-name", test_by_name);
  g_test_add_func ("/refuse/wrong-settings", test_wrong_settings);
  g_test_add_func ("/refuse/profiles", test_profiles);
  return g_test_run ();
}
