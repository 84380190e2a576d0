/*
 * PYTORCH_CUDA_ALLOC_CONF: "key:value,key:value", where one key also takes a list in
 * brackets.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process/alloc-conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t) 1 << 20)
#define N_INTERVALS 16 /* of roundup_power2_divisions: 1 MiB, 2 MiB ... 32 GiB */

typedef struct
{
  TesseraSettings *settings;
  double *fraction;
} Target;

static bool
parse_number (const char *text, uint64_t least, uint64_t most, uint64_t *out_number)
{
  char *end;
  unsigned long long number = strtoull (text, &end, 10);

  if (end == text || *end != '\0' || *text == '-' || number < least || number > most)
    return false;
  *out_number = number;
  return true;
}

static bool
parse_fraction (const char *text, double *out_fraction)
{
  char *end;
  double fraction = strtod (text, &end);

  if (end == text || *end != '\0' || !(fraction > 0 && fraction <= 1))
    return false;
  *out_fraction = fraction;
  return true;
}

static bool
is_power_of_two (uint64_t number)
{
  return number != 0 && (number & (number - 1)) == 0;
}

static bool
set_max_split (Target *target, const char *value)
{
  uint64_t mib;

  /* PyTorch wants it above the size of a large segment. */
  if (!parse_number (value, target->settings->large_segment_bytes / MIB + 1,
                     UINT64_MAX / MIB, &mib))
    return false;
  target->settings->max_split_bytes = mib * MIB;
  return true;
}

static bool
set_non_split_rounding (Target *target, const char *value)
{
  uint64_t mib;

  if (!parse_number (value, target->settings->large_segment_bytes / MIB + 1,
                     UINT64_MAX / MIB, &mib))
    return false;
  target->settings->max_non_split_rounding_bytes = mib * MIB;
  return true;
}

static bool
set_garbage_collection (Target *target, const char *value)
{
  double threshold;

  if (!parse_fraction (value, &threshold) || threshold >= 1)
    return false;
  target->settings->garbage_collection_threshold = threshold;
  return true;
}

static bool
set_expandable (Target *target, const char *value)
{
  bool is_on = strcasecmp (value, "true") == 0;

  if (!is_on && strcasecmp (value, "false") != 0)
    return false;
  target->settings->is_expandable = is_on;
  return true;
}

static bool
set_fraction (Target *target, const char *value)
{
  return parse_fraction (value, target->fraction);
}

static bool
parse_divisions (const char *text, uint32_t *out_divisions)
{
  uint64_t number;

  if (!parse_number (text, 0, 1024, &number) ||
      (number != 0 && !is_power_of_two (number)))
    return false;
  *out_divisions = (uint32_t) number;
  return true;
}

/* One "size:divisions" of the list; sizes in MiB, or '>' for all from the last one on. */
static bool
set_interval (char *part, uint32_t *divisions, int *last)
{
  char *value = strchr (part, ':');
  uint64_t mib;
  uint32_t number;
  int index;

  if (value == NULL)
    return false;
  *value++ = '\0';
  if (!parse_divisions (value, &number))
    return false;
  if (strcmp (part, ">") == 0)
    {
      for (int i = *last < 0 ? 0 : *last; i < N_INTERVALS; i++)
        divisions[i] = number;
      return true;
    }
  if (!parse_number (part, 1, UINT64_MAX, &mib) || !is_power_of_two (mib))
    return false;
  index = __builtin_ctzll (mib);
  if (index > N_INTERVALS - 1)
    index = N_INTERVALS - 1;
  if (*last < 0) /* the first key also stands for all that is smaller */
    for (int i = 0; i < index; i++)
      divisions[i] = number;
  divisions[index] = number;
  *last = index;
  return true;
}

static bool
set_divisions (Target *target, const char *value)
{
  uint32_t divisions[N_INTERVALS] = { 0 }, number;
  char list[512], *rest = list, *part;
  size_t length = strlen (value);
  int last = -1;

  if (*value != '[')
    {
      if (!parse_divisions (value, &number))
        return false;
      for (int i = 0; i < N_INTERVALS; i++)
        divisions[i] = number;
    }
  else
    {
      if (length < 2 || length > sizeof list || value[length - 1] != ']')
        return false;
      snprintf (list, length - 1, "%s", value + 1);
      while ((part = strsep (&rest, ",")) != NULL)
        if (!set_interval (part, divisions, &last))
          return false;
    }
  memcpy (target->settings->roundup_divisions, divisions, sizeof divisions);
  return true;
}

static bool
set_large_segment (Target *target, const char *value)
{
  uint64_t mib;

  if (!parse_number (value, 20, 1024, &mib) || mib % 2 != 0)
    return false;
  target->settings->large_segment_bytes = mib * MIB;
  return true;
}

static bool
set_backend (Target *target, const char *value)
{
  return strcmp (value, "native") == 0;
}

static bool
leave_alone (Target *target, const char *value)
{
  return true;
}

static const struct
{
  const char *key;
  bool (*set) (Target *target, const char *value);
} keys[] = {
  { "max_split_size_mb", set_max_split },
  { "max_non_split_rounding_mb", set_non_split_rounding },
  { "garbage_collection_threshold", set_garbage_collection },
  { "expandable_segments", set_expandable },
  { "roundup_power2_divisions", set_divisions },
  { "large_segment_size_mb", set_large_segment },
  { "backend", set_backend },
  { "per_process_memory_fraction", set_fraction },
  /* PyTorch keeps obeying these itself, or they change no address. */
  { "pinned_use_cuda_host_register", leave_alone },
  { "pinned_num_register_threads", leave_alone },
  { "pinned_use_background_threads", leave_alone },
  { "pinned_reserve_segment_size_mb", leave_alone },
  { "release_lock_on_cudamalloc", leave_alone },
};

static void
apply (Target *target,
       const char *key,
       const char *value,
       void (*complain) (const char *sentence))
{
  char sentence[TESSERA_ERROR_TEXT_BYTES];

  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp (keys[i].key, key) == 0)
      {
        if (keys[i].set (target, value))
          return;
        snprintf (sentence, sizeof sentence,
                  "The allocator setting %.100s:%.200s makes no sense and was left out.",
                  key, value);
        if (complain != NULL)
          complain (sentence);
        return;
      }
  snprintf (sentence, sizeof sentence,
            "The allocator setting %.100s is not known to Tessera and was left out.",
            key);
  if (complain != NULL)
    complain (sentence);
}

void
tessera_alloc_conf_parse (const char *text,
                          TesseraSettings *settings,
                          double *out_fraction,
                          void (*complain) (const char *sentence))
{
  Target target = { settings, out_fraction };
  char part[1024];
  size_t n = 0;
  int depth = 0;

  for (;; text++)
    {
      if (*text == '[')
        depth++;
      else if (*text == ']')
        depth--;
      if (*text != '\0' && (*text != ',' || depth > 0))
        {
          if (*text != ' ' && n + 1 < sizeof part)
            part[n++] = *text;
          continue;
        }
      part[n] = '\0';
      if (n > 0)
        {
          char *value = strchr (part, ':');

          if (value != NULL)
            *value++ = '\0';
          apply (&target, part, value != NULL ? value : "", complain);
        }
      n = 0;
      if (*text == '\0')
        return;
    }
}
