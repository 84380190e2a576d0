/*
 * What the process was told: the text of PYTORCH_CUDA_ALLOC_CONF ("key:value,key:value",
 * where one key also takes a list in brackets), keys and values, and the environment.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/guest.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/tessera.h"

/* ---- PYTORCH_CUDA_ALLOC_CONF ---- */

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

/* From 0 to 1. */
static bool
parse_fraction (const char *text, double *out_fraction)
{
  char *end;
  double fraction = strtod (text, &end);

  if (end == text || *end != '\0' || !(fraction >= 0 && fraction <= 1))
    return false;
  *out_fraction = fraction;
  return true;
}

static bool
is_power_of_two (uint64_t number)
{
  return number != 0 && (number & (number - 1)) == 0;
}

/* PyTorch wants it above the size of a large segment. */
static bool
parse_split (const Target *target, const char *value, uint64_t *out_bytes)
{
  uint64_t mib;

  if (!parse_number (value, target->settings->large_segment_bytes / MIB + 1,
                     UINT64_MAX / MIB, &mib))
    return false;
  *out_bytes = mib * MIB;
  return true;
}

static bool
set_max_split (Target *target, const char *value)
{
  return parse_split (target, value, &target->settings->max_split_bytes);
}

static bool
set_non_split_rounding (Target *target, const char *value)
{
  return parse_split (target, value, &target->settings->max_non_split_rounding_bytes);
}

static bool
set_garbage_collection (Target *target, const char *value)
{
  double threshold;

  if (!parse_fraction (value, &threshold) || threshold == 0 || threshold == 1)
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
  double fraction;

  if (!parse_fraction (value, &fraction) || fraction == 0)
    return false;
  *target->fraction = fraction;
  return true;
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
} conf_keys[] = {
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
  size_t i = 0, n = sizeof conf_keys / sizeof *conf_keys;

  while (i < n && strcmp (conf_keys[i].key, key) != 0)
    i++;
  if (i < n && conf_keys[i].set (target, value))
    return;
  if (i < n)
    snprintf (sentence, sizeof sentence,
              "The allocator setting %.100s:%.200s makes no sense and was left out.", key,
              value);
  else
    snprintf (sentence, sizeof sentence,
              "The allocator setting %.100s is not known to Tessera and was left out.",
              key);
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

/* ---- Keys, values and the environment ---- */

TesseraOptions tessera_options = { .world = 1 };
static atomic_int process_state; /* TesseraProcessState */

TesseraProcessState
tessera_process_state (void)
{
  return (TesseraProcessState) atomic_load_explicit (&process_state,
                                                     memory_order_acquire);
}

void
tessera_process_enter (TesseraProcessState state)
{
  atomic_store_explicit (&process_state, state, memory_order_release);
}

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

#define SIZE(name) sizeof ((TesseraOptions *) NULL)->name

typedef struct Key Key;
struct Key
{
  const char *name;
  bool (*set) (const Key *key, TesseraOptions *options, const char *value);
  size_t offset;        /* of the field, where @set reads the next */
  uint32_t least, most; /* numbers; @most of a text: the bytes of its field */
  const char *takes;
};

static bool
set_number (const Key *key, TesseraOptions *options, const char *value)
{
  uint64_t number;

  if (!parse_number (value, key->least, key->most, &number))
    return false;
  *(uint32_t *) ((char *) options + key->offset) = (uint32_t) number;
  return true;
}

static bool
set_text (const Key *key, TesseraOptions *options, const char *value)
{
  if (strlen (value) >= key->most)
    return false;
  strcpy ((char *) options + key->offset, value);
  return true;
}

static bool
set_pattern (const Key *key, TesseraOptions *options, const char *value)
{
  char path[SIZE (record)];

  return tessera_options_expand (options, value, path, sizeof path) &&
         set_text (key, options, value);
}

static bool
set_plan (const Key *key, TesseraOptions *options, const char *value)
{
  if (!set_pattern (key, options, value))
    return false;
  if (*value != '\0')
    options->policy = TESSERA_POLICY_PLAN;
  return true;
}

static bool
set_policy (const Key *key, TesseraOptions *options, const char *value)
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
set_follow (const Key *key, TesseraOptions *options, const char *value)
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
set_limit (const Key *key, TesseraOptions *options, const char *value)
{
  return parse_fraction (value, &options->limit_fraction);
}

#define PATTERN                                                                          \
  "a path in which % is followed by r (rank), h (host), p (process) or another %"
#define TEXT "a shorter text"
#define FIELD(name) offsetof (TesseraOptions, name)

static const Key keys[] = {
  { "policy", set_policy, 0, 0, 0, "native, expandable, direct or plan" },
  { "record", set_pattern, FIELD (record), 0, SIZE (record), PATTERN },
  { "plan", set_plan, FIELD (plan), 0, SIZE (plan), PATTERN },
  { "follow", set_follow, 0, 0, 0, "length or trace" },
  { "torch", set_text, FIELD (torch), 0, SIZE (torch), TEXT },
  { "rank", set_number, FIELD (rank), 0, UINT32_MAX - 1, "a number from 0" },
  { "world", set_number, FIELD (world), 1, UINT32_MAX - 1, "a number from 1" },
  { "alloc_conf", set_text, FIELD (alloc_conf), 0, SIZE (alloc_conf), TEXT },
  { "limit", set_limit, 0, 0, 0, "a fraction from 0 to 1" },
  { "flush_ms", set_number, FIELD (flush_ms), 1, 60000, "milliseconds from 1 to 60000" },
  { "ring_events", set_number, FIELD (ring_events), 1, 1 << 26,
    "a number from 1 to 67108864" },
  { "stacks", set_number, FIELD (stacks), 0, 1, "0 or 1" },
};

static const Key *
find_key (const char *name)
{
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    if (strcmp (keys[i].name, name) == 0)
      return &keys[i];
  return NULL;
}

int
tessera_configure (const char *name, const char *value)
{
  const Key *key = name != NULL ? find_key (name) : NULL;

  if (name == NULL || value == NULL)
    return tessera_set_last_error ("A setting needs a key and a value.");
  if (tessera_process_state () != TESSERA_PROCESS_NEW)
    return tessera_set_last_error (
        "The setting %.60s came after the start, when nothing can be set any more.",
        name);
  if (key == NULL)
    return tessera_set_last_error ("There is no setting called %.200s.", name);
  if (!key->set (key, &tessera_options, value))
    return tessera_set_last_error (
        "The value %.200s makes no sense for %s, which takes %s.", value, name,
        key->takes);
  tessera_options.given |= 1u << (key - keys);
  return 0;
}

void
tessera_options_settle (TesseraOptions *options)
{
  static const char *const sources[][2] = { { "rank", "RANK" },
                                            { "world", "WORLD_SIZE" },
                                            { "alloc_conf", "PYTORCH_CUDA_ALLOC_CONF" },
                                            { "alloc_conf", "PYTORCH_ALLOC_CONF" } };
  const char *force = getenv ("TESSERA_FORCE");

  options->overwrites = force != NULL && *force != '\0' && strcmp (force, "0") != 0;
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
    {
      const Key *key = find_key (sources[i][0]);
      const char *value = getenv (sources[i][1]);

      if (value != NULL && !(options->given >> (key - keys) & 1))
        key->set (key, options, value);
    }
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
