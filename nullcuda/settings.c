/* SPDX-License-Identifier: Apache-2.0 */
#include "nullcuda/settings.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "db/size-text.h"

static NullSettings settings;
static pthread_once_t settings_once = PTHREAD_ONCE_INIT;

static void
write_line (const char *format, va_list arguments)
{
  char line[512];
  vsnprintf (line, sizeof line, format, arguments);
  fprintf (stderr, "nullcuda: %s\n", line);
}

static void
complain (const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  write_line (format, arguments);
  va_end (arguments);
}

/* A size that a device may have. */
static bool
parse_memory (const char *text, uint64_t *out_bytes)
{
  uint64_t bytes;

  if (!tessera_parse_bytes (text, &bytes) || bytes < NULL_GRANULE ||
      bytes >= UINT64_C (1) << 46)
    return false;
  *out_bytes = bytes;
  return true;
}

/* A small whole number, @fallback where there is none or it lies outside. */
static int
parse_number (const char *variable, int fallback, int lowest, int highest)
{
  const char *text = getenv (variable);
  if (text == NULL || *text == '\0')
    return fallback;
  char *end = NULL;
  long number = strtol (text, &end, 10);
  if (*end == '\0' && number >= lowest && number <= highest)
    return (int) number;
  complain ("%s=%s: expected a number from %d to %d; taking %d", variable, text, lowest,
            highest, fallback);
  return fallback;
}

static void
read_device (void)
{
  const char *text = getenv ("NULLCUDA_DEVICE");
  const NullProfile *standard = null_profile_find ("h100-80");
  const NullProfile *named =
      text == NULL || *text == '\0' ? standard : null_profile_find (text);
  uint64_t total_bytes = 0;
  settings.profile = named != NULL ? *named : *standard;
  if (named == NULL && parse_memory (text, &total_bytes))
    {
      settings.profile.model = "Null GPU";
      settings.profile.total_bytes = total_bytes;
    }
  else if (named == NULL)
    complain (
        "NULLCUDA_DEVICE=%s: neither a profile (a100-40, a100-80, h100-80, h200-141, "
        "l40s-48, rtx4090-24) nor a size such as 24GiB; taking h100-80",
        text);

  text = getenv ("NULLCUDA_BUDGET");
  settings.budget_bytes = settings.profile.total_bytes;
  if (text != NULL && *text != '\0' && !parse_memory (text, &settings.budget_bytes))
    complain ("NULLCUDA_BUDGET=%s: expected a size such as 512GiB; taking the device's",
              text);
}

/* A machine with a real driver must not be served by a null one unless somebody insists:
 * a training run that computes nothing would look like one that does. */
static bool
real_driver_is_present (void)
{
  return access ("/dev/nvidiactl", F_OK) == 0 ||
         access ("/proc/driver/nvidia", F_OK) == 0;
}

/* The pip packages of PyTorch map the real runtime, which is never entered; its name
 * tells for which version this PyTorch was built. */
static int
cuda_version_in_process (void)
{
  void *runtime = dlopen ("libcudart.so.12", RTLD_LAZY | RTLD_NOLOAD);
  if (runtime == NULL)
    return 13020;
  dlclose (runtime);
  return 12040;
}

static void
read_settings (void)
{
  settings.log_level = parse_number ("NULLCUDA_LOG", 0, 0, 2);
  settings.is_lagging = parse_number ("NULLCUDA_LAG", 1, 0, 1) == 1;
  settings.n_devices = parse_number ("NULLCUDA_COUNT", 1, 1, NULL_MAX_DEVICES);
  settings.cuda_version = cuda_version_in_process ();
  read_device ();
  if (parse_number ("NULLCUDA_FORCE", 0, 0, 1) == 0 && real_driver_is_present ())
    {
      settings.refuses = true;
      settings.n_devices = 0;
      complain ("this machine has a real NVIDIA driver: refusing to stand in for it, so "
                "no device is offered; NULLCUDA_FORCE=1 insists");
    }
}

const NullSettings *
null_settings (void)
{
  pthread_once (&settings_once, read_settings);
  return &settings;
}

void
null_log (int level, const char *format, ...)
{
  va_list arguments;
  va_start (arguments, format);
  if (null_settings ()->log_level >= level)
    write_line (format, arguments);
  va_end (arguments);
}
