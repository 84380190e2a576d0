/* See oom.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/answers/oom.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "db/size-text.h"

enum
{
  READ_BYTES = 1 << 20,
  MOST_TEXT_BYTES =
      1 << 29,            /* of a longer log at least so much of its end is looked at */
  BEFORE_BYTES = 1 << 16, /* of what is before an error: its traceback */
  AFTER_BYTES = 1 << 13,  /* of what follows its beginning */
  HEAD_BYTES = 256,       /* of its line before it */
};

/* Above it a number is no memory of a GPU: a driver that cannot tell says 2^64. */
#define MOST_BYTES ((guint64) 1 << 50)

#define BREAK "(?:\\s|\\\\n|\\[\\w{1,16}\\]:)+"

static const char any_error[] =
    "(ut\\s+of\\s+memory\\." BREAK "(?:Tried|Allocation" BREAK "was" BREAK "preemptively)"
    "|would exceed allowed memory)"
    "|(Cuda failure[^\\n]{0,32}out of memory|Failed to CUDA "
    "(?:calloc|malloc)[^\\n]{0,40}bytes)"
    "|((?:CUBLAS|CUDNN|CUSOLVER|CUSPARSE)_(?:STATUS_)?ALLOC_FAILED"
    "|out of memory outside PyTorch)"
    "|((?:CUDA|HIP) error: out of memory|CUDA_ERROR_OUT_OF_MEMORY"
    "|(?:cuda|hip)Error(?:MemoryAllocation|OutOfMemory))"
    "|(allocate memory: you tried to allocate|ut of memory: Killed process)";

#define SIZE "([0-9.]{1,24} ?(?:bytes|[KMGTPE]?i?B))"

/* In turn: PyTorch from 2.1 on (2.1 writes "capacty"), up to 2.0, and cudaMallocAsync's. */
static const char *const fact_patterns[] = {
  [CLI_OOM_ASKED] = "(?|Tried to allocate " SIZE "|Requested(?: size)? ?: " SIZE ")",
  [CLI_OOM_CAPACITY] =
      "(?|total capac\\w* of " SIZE "|" SIZE " total capacity|Device limit ?: " SIZE ")",
  [CLI_OOM_FREE] =
      "(?|of which " SIZE " is free|" SIZE " free;|Free .according to CUDA. ?: " SIZE ")",
  [CLI_OOM_ALLOWED] = "(?|" SIZE " allowed;|memory fraction\\) ?: " SIZE ")",
  [CLI_OOM_ALLOCATED] = "(?|" SIZE " is allocated by PyTorch|" SIZE " already allocated"
                        "|Currently allocated ?: " SIZE ")",
  [CLI_OOM_PRIVATE] = "with " SIZE " allocated in private pools",
  [CLI_OOM_UNALLOCATED] = SIZE " is reserved by PyTorch but",
  [CLI_OOM_RESERVED] = SIZE " reserved in total",
  [CLI_OOM_OWN] = "this process has " SIZE " memory in use",
};
G_STATIC_ASSERT (G_N_ELEMENTS (fact_patterns) == CLI_OOM_N_FACTS);

/* Before each line of a rank, by PyTorch or by torchrun. */
#define RANK "\\[(?:[Rr]ank|default) ?(\\d{1,6})\\]"
#define BLANKS "(?>[\\s\\x00]|\\\\n|" RANK ":)++"
#define GPU "(?|GPU (\\d{1,6})(?:;| has)|on device (\\d{1,6}) would)"
#define OTHER "Process (\\d{1,18}) has " SIZE " memory in use"
/* Python's, and IPython's "File ~/x.py:7, in f (a, b)". */
#define FRAME                                                                            \
  "(Traceback \\(most recent)|File \"?([^\",\\n]{1,512})\"?(?:, line |:)(\\d{1,9}), in " \
  "([^\\s(]{1,128})"
/* Files whose lines nobody who trains can change. */
#define NOT_OWN "site-packages|dist-packages|/lib(?:64)?/python\\d|^<|/torch/"

static GRegex *
regex_of (const char *pattern)
{
  static GHashTable *regexes; /* each is used for every error of a log */

  if (regexes == NULL)
    regexes = g_hash_table_new (NULL, NULL);
  GRegex *regex = g_hash_table_lookup (regexes, pattern);
  if (regex == NULL)
    {
      regex = g_regex_new (pattern, G_REGEX_RAW | G_REGEX_OPTIMIZE, 0, NULL);
      g_hash_table_insert (regexes, (void *) pattern, regex);
    }
  return regex;
}

/* The first group of @pattern in @text, or NULL. */
static char *
find_text (const char *pattern, const char *text)
{
  g_autoptr (GMatchInfo) match = NULL;

  return g_regex_match (regex_of (pattern), text, 0, &match)
             ? g_match_info_fetch (match, 1)
             : NULL;
}

static guint64
find_number (const char *pattern, const char *text)
{
  g_autofree char *number = find_text (pattern, text);

  return number != NULL ? g_ascii_strtoull (number, NULL, 10) : CLI_OOM_UNKNOWN;
}

static guint64
parse_size (const char *text)
{
  uint64_t bytes;

  return text != NULL && tessera_parse_bytes (text, &bytes) && bytes <= MOST_BYTES
             ? bytes
             : CLI_OOM_UNKNOWN;
}

/* However a log broke the text: blanks, zeros, line ends (also as JSON writes them) and
 * what stands before each line of a rank become one blank. */
static char *
join_lines (const char *text, size_t n)
{
  char *line =
      g_regex_replace_literal (regex_of (BLANKS), text, (gssize) n, 0, " ", 0, NULL);

  return line != NULL ? line : g_strdup ("");
}

static void
count_error (CliOom *oom)
{
  size_t i = 0;

  oom->n_errors++;
  while (i < oom->n_places &&
         (oom->places[i].rank != oom->rank || oom->places[i].gpu != oom->gpu))
    i++;
  if (i == CLI_OOM_PLACES)
    return;
  if (i == oom->n_places)
    oom->places[oom->n_places++] = (CliOomPlace){ .rank = oom->rank, .gpu = oom->gpu };
  oom->places[i].n_errors++;
}

/* Of a long line less than all. */
static size_t
line_begin (const char *text, size_t at)
{
  size_t begin = at;

  while (begin > at - MIN (at, HEAD_BYTES) && text[begin - 1] != '\n')
    begin--;
  return begin;
}

/* An error of @kind is at @start of @text. */
static void
take_error (CliOom *oom, CliOomKind kind, const char *text, size_t n, size_t start)
{
  const size_t line = line_begin (text, start);
  g_autofree char *head = join_lines (text + line, MIN (n - line, 4 * HEAD_BYTES));
  g_autofree char *prefix = g_strndup (text + line, start - line);

  oom->kind = kind;
  oom->rank = find_number (RANK, prefix);
  oom->gpu = kind == CLI_OOM_PYTORCH ? find_number (GPU, head) : CLI_OOM_UNKNOWN;
  count_error (oom);
}

static guint64
count_lines (const char *text, size_t n)
{
  guint64 n_lines = 0;

  for (const char *end = text + n;
       (text = memchr (text, '\n', (size_t) (end - text))) != NULL; text++)
    n_lines++;
  return n_lines;
}

/* Returns: where the last error begins */
static size_t
find_errors (CliOom *oom, const char *text, size_t n)
{
  g_autoptr (GMatchInfo) match = NULL;
  int at = 0, stop = 0, last = 0, repeated_until = 0;

  g_regex_match_full (regex_of (any_error), text, (gssize) n, 0, 0, &match, NULL);
  for (; g_match_info_fetch_pos (match, 0, &at, &stop) && at >= 0;
       g_match_info_next (match, NULL))
    {
      CliOomKind kind = (CliOomKind) (g_match_info_get_match_count (match) - 2);

      /* A driver's error is told twice: in words and by its name. */
      if (kind == CLI_OOM_DRIVER && at < repeated_until)
        continue;
      if (kind == CLI_OOM_DRIVER)
        repeated_until = stop + HEAD_BYTES;
      take_error (oom, kind, text, n, (size_t) at);
      last = at;
    }
  return (size_t) last;
}

/* The frames of the error's own rank after its last "Traceback": the innermost that is
 * the program's, else the innermost. */
static void
find_line (CliOom *oom, const char *text, size_t n)
{
  g_autoptr (GMatchInfo) match = NULL;
  gboolean has_own = FALSE;

  g_regex_match_full (regex_of (FRAME), text, (gssize) n, 0, 0, &match, NULL);
  for (; g_match_info_matches (match); g_match_info_next (match, NULL))
    {
      int at, stop;
      g_match_info_fetch_pos (match, 0, &at, &stop);
      const size_t line = line_begin (text, (size_t) at);
      g_autofree char *prefix = g_strndup (text + line, (size_t) at - line);
      g_autofree char *file = g_match_info_fetch (match, 2);
      gboolean is_frame = file != NULL && *file != '\0';
      gboolean is_own = is_frame && !g_regex_match (regex_of (NOT_OWN), file, 0, NULL);
      if (find_number (RANK, prefix) != oom->rank || (is_frame && has_own && !is_own))
        continue;
      has_own = is_own;
      g_clear_pointer (&oom->file, g_free);
      g_clear_pointer (&oom->function, g_free);
      if (!is_frame)
        continue;
      oom->file = g_steal_pointer (&file);
      g_autofree char *number = g_match_info_fetch (match, 3);
      oom->file_line = g_ascii_strtoull (number, NULL, 10);
      oom->function = g_match_info_fetch (match, 4);
    }
}

static void
read_processes (CliOom *oom)
{
  g_autoptr (GMatchInfo) match = NULL;

  g_regex_match (regex_of (OTHER), oom->text, 0, &match);
  for (; g_match_info_matches (match) && oom->n_others < CLI_OOM_PROCESSES;
       g_match_info_next (match, NULL))
    {
      g_autofree char *pid = g_match_info_fetch (match, 1);
      g_autofree char *size = g_match_info_fetch (match, 2);
      const CliOomProcess process = { g_ascii_strtoull (pid, NULL, 10),
                                      parse_size (size) };

      if (process.bytes <= oom->facts[CLI_OOM_CAPACITY])
        oom->others[oom->n_others++] = process;
    }
}

/* In a container a process has two numbers, and PyTorch takes itself for another one: the
 * smallest that can hold what PyTorch reserved. */
static void
find_own_process (CliOom *oom)
{
  size_t own = oom->n_others;
  guint64 reserved_bytes = oom->facts[CLI_OOM_RESERVED];

  if (oom->facts[CLI_OOM_OWN] != CLI_OOM_UNKNOWN || reserved_bytes == CLI_OOM_UNKNOWN)
    return;
  for (size_t i = 0; i < oom->n_others; i++)
    if (oom->others[i].bytes + oom->others[i].bytes / 500 >= reserved_bytes &&
        (own == oom->n_others || oom->others[i].bytes < oom->others[own].bytes))
      own = i;
  if (own == oom->n_others)
    return;
  oom->facts[CLI_OOM_OWN] = oom->others[own].bytes;
  oom->others[own] = oom->others[--oom->n_others];
  oom->is_own_guessed = TRUE;
}

static void
read_facts (CliOom *oom)
{
  guint64 *facts = oom->facts;

  for (size_t i = 0; i < CLI_OOM_N_FACTS; i++)
    {
      g_autofree char *size = find_text (fact_patterns[i], oom->text);
      facts[i] = parse_size (size);
    }
  if (facts[CLI_OOM_PRIVATE] == CLI_OOM_UNKNOWN)
    facts[CLI_OOM_PRIVATE] = 0;
  if (facts[CLI_OOM_ALLOCATED] == CLI_OOM_UNKNOWN)
    return;
  facts[CLI_OOM_PRIVATE] = MIN (facts[CLI_OOM_PRIVATE], facts[CLI_OOM_ALLOCATED]);
  /* Up to 2.0 the sum is told; cudaMallocAsync has no segments of PyTorch's. */
  if (facts[CLI_OOM_RESERVED] == CLI_OOM_UNKNOWN)
    facts[CLI_OOM_RESERVED] =
        facts[CLI_OOM_ALLOCATED] +
        (facts[CLI_OOM_UNALLOCATED] != CLI_OOM_UNKNOWN ? facts[CLI_OOM_UNALLOCATED] : 0);
  facts[CLI_OOM_RESERVED] = MAX (facts[CLI_OOM_RESERVED], facts[CLI_OOM_ALLOCATED]);
  facts[CLI_OOM_UNALLOCATED] = facts[CLI_OOM_RESERVED] - facts[CLI_OOM_ALLOCATED];
}

void
cli_oom_read_text (CliOom *oom, const char *text, size_t n)
{
  const size_t last = find_errors (oom, text, n), line = line_begin (text, last);
  const size_t before = line - MIN (line, BEFORE_BYTES);

  oom->file_line = CLI_OOM_UNKNOWN;
  if (oom->n_errors == 0)
    return;
  oom->line += count_lines (text, last) + 1;
  oom->text = join_lines (text + line, MIN (n - line, last - line + AFTER_BYTES));
  find_line (oom, text + before, line - before);
  read_facts (oom);
  read_processes (oom);
  find_own_process (oom);
}

int
cli_oom_read (CliOom *oom, int fd)
{
  g_autoptr (GString) text = g_string_new (NULL);
  ssize_t n_read;

  do
    {
      const gsize n = text->len;

      g_string_set_size (text, n + READ_BYTES);
      n_read = read (fd, text->str + n, READ_BYTES);
      g_string_set_size (text, n + (gsize) MAX (n_read, 0));
      if (text->len <= 2 * MOST_TEXT_BYTES)
        continue;
      oom->line += count_lines (text->str, MOST_TEXT_BYTES);
      g_string_erase (text, 0, MOST_TEXT_BYTES);
    }
  while (n_read > 0);
  if (n_read < 0)
    return errno;
  cli_oom_read_text (oom, text->str, text->len);
  return 0;
}

void
cli_oom_clear (CliOom *oom)
{
  g_free (oom->text);
  g_free (oom->file);
  g_free (oom->function);
}
