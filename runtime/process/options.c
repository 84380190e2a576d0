/*
 * Keys, values and the environment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/process/notice.h"
#include "runtime/process.h"
#include "runtime/tessera.h"

TesseraOptions tessera_options = { .world = 1 };

static const char *const kind_names[] = {
  [TESSERA_POLICY_NATIVE] = "native",
  [TESSERA_POLICY_EXPANDABLE] = "expandable",
  [TESSERA_POLICY_DIRECT] = "direct",
  [TESSERA_POLICY_PLAN] = "plan",
};

const char *
tessera_policy_kind_name (TesseraPolicyKind kind)
{
  return kind_names[kind];
}

static bool
parse_number (const char *text, uint32_t least, uint32_t most, uint32_t *out_number)
{
  char *end;
  unsigned long number = strtoul (text, &end, 10);

  if (end == text || *end != '\0' || *text == '-' || number < least || number > most)
    return false;
  *out_number = (uint32_t) number;
  return true;
}

static bool
copy_text (char *to, size_t n_bytes, const char *value)
{
  return (size_t) snprintf (to, n_bytes, "%s", value) < n_bytes;
}

static bool
set_policy (TesseraOptions *options, const char *value)
{
  for (size_t i = 0; i < sizeof kind_names / sizeof *kind_names; i++)
    if (strcmp (kind_names[i], value) == 0)
      {
        options->policy = (TesseraPolicyKind) i;
        return true;
      }
  return false;
}

static bool
set_record (TesseraOptions *options, const char *value)
{
  char path[sizeof options->record];

  return tessera_options_expand (options, value, path, sizeof path) &&
         copy_text (options->record, sizeof options->record, value);
}

static bool
set_plan (TesseraOptions *options, const char *value)
{
  char path[sizeof options->plan];

  if (!tessera_options_expand (options, value, path, sizeof path) ||
      !copy_text (options->plan, sizeof options->plan, value))
    return false;
  if (*value != '\0')
    options->policy = TESSERA_POLICY_PLAN;
  return true;
}

static bool
set_follow (TesseraOptions *options, const char *value)
{
  if (strcmp (value, "length") == 0)
    options->follow = TESSERA_FOLLOW_LENGTH;
  else if (strcmp (value, "trace") == 0)
    options->follow = TESSERA_FOLLOW_TRACE;
  else
    return false;
  return true;
}

static bool
set_torch (TesseraOptions *options, const char *value)
{
  return copy_text (options->torch, sizeof options->torch, value);
}

static bool
set_rank (TesseraOptions *options, const char *value)
{
  options->has_rank = parse_number (value, 0, UINT32_MAX - 1, &options->rank);
  return options->has_rank;
}

static bool
set_world (TesseraOptions *options, const char *value)
{
  options->has_world = parse_number (value, 1, UINT32_MAX - 1, &options->world);
  return options->has_world;
}

static bool
set_alloc_conf (TesseraOptions *options, const char *value)
{
  options->has_alloc_conf =
      copy_text (options->alloc_conf, sizeof options->alloc_conf, value);
  return options->has_alloc_conf;
}

static bool
set_limit (TesseraOptions *options, const char *value)
{
  char *end;
  double fraction = strtod (value, &end);

  if (end == value || *end != '\0' || !(fraction >= 0 && fraction <= 1))
    return false;
  options->limit_fraction = fraction;
  return true;
}

static bool
set_flush (TesseraOptions *options, const char *value)
{
  return parse_number (value, 1, 60000, &options->flush_ms);
}

static bool
set_ring (TesseraOptions *options, const char *value)
{
  return parse_number (value, 1, 1 << 26, &options->ring_events);
}

static bool
set_stacks (TesseraOptions *options, const char *value)
{
  uint32_t is_on;

  if (!parse_number (value, 0, 1, &is_on))
    return false;
  options->has_stacks = is_on;
  return true;
}

#define PATTERN                                                                          \
  "a path in which % is followed by r (rank), h (host), p (process) or another %"
#define TEXT "a shorter text"

static const struct
{
  const char *key;
  bool (*set) (TesseraOptions *options, const char *value);
  const char *takes;
} keys[] = {
  { "policy", set_policy, "native, expandable, direct or plan" },
  { "record", set_record, PATTERN },
  { "plan", set_plan, PATTERN },
  { "follow", set_follow, "length or trace" },
  { "torch", set_torch, TEXT },
  { "rank", set_rank, "a number from 0" },
  { "world", set_world, "a number from 1" },
  { "alloc_conf", set_alloc_conf, TEXT },
  { "limit", set_limit, "a fraction from 0 to 1" },
  { "flush_ms", set_flush, "milliseconds from 1 to 60000" },
  { "ring_events", set_ring, "a number from 1 to 67108864" },
  { "stacks", set_stacks, "0 or 1" },
};

int
tessera_configure (const char *key, const char *value)
{
  if (key == NULL || value == NULL)
    return tessera_set_last_error ("A setting needs a key and a value.");
  if (tessera_process_state () != TESSERA_PROCESS_NEW)
    return tessera_set_last_error (
        "The setting %.60s came after the start, when nothing can be set any more.", key);
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp (keys[i].key, key) == 0)
      return keys[i].set (&tessera_options, value)
                 ? 0
                 : tessera_set_last_error (
                       "The value %.200s makes no sense for %s, which takes %s.", value,
                       key, keys[i].takes);
  return tessera_set_last_error ("There is no setting called %.200s.", key);
}

void
tessera_options_settle (TesseraOptions *options)
{
  const char *rank = getenv ("RANK"), *world = getenv ("WORLD_SIZE");
  const char *conf = getenv ("PYTORCH_ALLOC_CONF"), *force = getenv ("TESSERA_FORCE");

  options->overwrites = force != NULL && *force != '\0' && strcmp (force, "0") != 0;
  if (conf == NULL)
    conf = getenv ("PYTORCH_CUDA_ALLOC_CONF");
  if (!options->has_rank && (rank == NULL || !set_rank (options, rank)))
    options->rank = 0;
  if (!options->has_world && (world == NULL || !set_world (options, world)))
    options->world = 1;
  if (!options->has_alloc_conf && conf != NULL)
    set_alloc_conf (options, conf);
}

bool
tessera_options_expand (const TesseraOptions *options,
                        const char *pattern,
                        char *out_path,
                        size_t n_bytes)
{
  char host[256] = "", part[256];
  size_t n = 0;

  gethostname (host, sizeof host - 1);
  for (; *pattern != '\0'; pattern++)
    {
      if (*pattern != '%')
        snprintf (part, sizeof part, "%c", *pattern);
      else if (*++pattern == 'r')
        snprintf (part, sizeof part, "%u", options->rank);
      else if (*pattern == 'p')
        snprintf (part, sizeof part, "%ld", (long) getpid ());
      else if (*pattern == 'h')
        snprintf (part, sizeof part, "%s", host);
      else if (*pattern == '%')
        snprintf (part, sizeof part, "%%");
      else
        return false;
      if (n + strlen (part) >= n_bytes)
        return false;
      strcpy (out_path + n, part);
      n += strlen (part);
    }
  out_path[n] = '\0';
  return true;
}
