/*
 * tessera oom [FILE]: the verdict on a run of which nothing is left but its error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/answers/oom.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/print.h"

/* A CUDA context, cuBLAS, cuDNN and NCCL take less than that (docs/EVALUATION.md). More,
 * and an eighth of the GPU, that nobody is told to have is another process's. */
#define LIBRARIES_BYTES ((guint64) 2 << 30)
/* What cudaMallocAsync says, whose pool is the driver's: it does not tell what it wastes. */
#define ASYNC "would exceed allowed memory"

typedef enum
{
  CAUSE_UNKNOWN, /* the sentence is not whole */
  CAUSE_FRAGMENTATION,
  CAUSE_FULL, /* pieces would do, but there is little in them */
  CAUSE_SIZE,
  CAUSE_PRIVATE_POOLS,
  CAUSE_OTHER_PROCESS,
  CAUSE_FRACTION,
  CAUSE_HAD_ROOM,
  CAUSE_RESERVE,
  CAUSE_MEMPOOL,
  /* In the order of CliOomKind. */
  CAUSE_NCCL,
  CAUSE_LIBRARY,
  CAUSE_DRIVER,
  CAUSE_HOST,
} Cause;

/* What each cause is called, and the sentences: where the sizes are known, and where the text tells
 * none or too few. fill_in() puts what is known in the place of @NAMES@. */
static const struct
{
  const char *name, *sized, *bare;
} causes[] = {
  [CAUSE_UNKNOWN] = { "unknown", NULL,
                      "PyTorch found no memory@FOR@, and the text does not say what held "
                      "it: @WHY@." },
  [CAUSE_FRAGMENTATION] = { "fragmentation",
                            "Died of fragmentation: @ASKED@ asked, @FREE@ free at the "
                            "driver, and @PIECES@ lie in pieces inside PyTorch's "
                            "segments@EXPANDED@." },
  [CAUSE_FULL] = { "full",
                   "The GPU is full: tensors hold @ALLOCATED@ of @CAPACITY@. What is "
                   "free (@FREE@) and in pieces inside PyTorch's segments (@PIECES@) "
                   "would do for the @ASKED@ asked, and for little more." },
  [CAUSE_SIZE] = { "size", "Died of size: even with no byte wasted @MISSING@ are missing "
                           "(@ASKED@ asked, @FREE@ free, @PIECES@ in pieces inside "
                           "PyTorch's segments)." },
  [CAUSE_PRIVATE_POOLS] = { "private_pools",
                            "Died of private pools: @ASKED@ asked, and @PRIVATE@ lie "
                            "unused where only the CUDA graphs or the MemPool that they "
                            "were reserved for may use them." },
  [CAUSE_OTHER_PROCESS] = { "other_process",
                            "@FOREIGN@: without it the @ASKED@ asked would fit." },
  [CAUSE_FRACTION] = { "memory_fraction",
                       "Died of the memory fraction, not of the device: @ALLOWED@ "
                       "allowed, @RESERVED@ of it reserved, @ASKED@ asked, while @FREE@ "
                       "of the GPU are free.",
                       "Died of the memory fraction, not of the device: PyTorch refused "
                       "before it asked the driver." },
  [CAUSE_HAD_ROOM] = { "device_had_room",
                       "The GPU had room: @ASKED@ asked, @FREE@ free. @HAD_ROOM@." },
  [CAUSE_RESERVE] = { "segment_reserve", NULL,
                      "Died of a setting: the request is larger than "
                      "expandable_segments_reserve lets a segment become." },
  [CAUSE_MEMPOOL] = { "mempool", NULL,
                      "The allocator behind a torch.cuda.MemPool gave no memory: what is "
                      "free on the GPU says nothing about it." },
  [CAUSE_NCCL] = { "outside_pytorch", NULL,
                   "NCCL found no memory for its own buffers: it asks the driver, and so "
                   "can only have what PyTorch and other processes leave." },
  [CAUSE_LIBRARY] = { "outside_pytorch", NULL,
                      "A library (cuBLAS, cuDNN) found no memory for its handle or "
                      "workspace: it asks the driver, and so can only have what PyTorch "
                      "and other processes leave." },
  [CAUSE_DRIVER] = { "outside_pytorch", NULL,
                     "The driver itself found no memory, for a CUDA context, a kernel or "
                     "a library: not PyTorch's pool, which fails with its own "
                     "sentence." },
  [CAUSE_HOST] = { "host_memory", NULL, "The host's memory ran out, not the GPU's." },
};

typedef struct
{
  Cause cause;
  gboolean is_whole; /* what follows is known */
  /* Parts of the device beside those of the facts. */
  guint64 libraries_bytes, others_bytes, rest_bytes;
  guint64 spilled_bytes; /* that do not fit on it */
  guint64 foreign_bytes; /* others_bytes and of the rest what is surely no library's */
  guint64 missing_bytes; /* for the request with no byte wasted */
  char *sentence;
} Verdict;

static guint64
less (guint64 bytes, guint64 taken_bytes)
{
  return bytes > taken_bytes ? bytes - taken_bytes : 0;
}

static gboolean
says (const CliOom *oom, const char *words)
{
  return strstr (oom->text, words) != NULL;
}

/* Half of a hundredth of the unit that @bytes are printed in. */
static guint64
rounding_of (guint64 bytes)
{
  return (guint64) (tessera_size_unit ((double) bytes, 1)->bytes / 200);
}

static void
find_parts (const CliOom *oom, Verdict *verdict)
{
  const guint64 *facts = oom->facts;
  guint64 capacity_bytes = facts[CLI_OOM_CAPACITY];
  guint64 slack_bytes = (oom->n_others + 5) * rounding_of (capacity_bytes);
  guint64 used_bytes = facts[CLI_OOM_RESERVED] + facts[CLI_OOM_FREE];

  if (facts[CLI_OOM_OWN] != CLI_OOM_UNKNOWN)
    verdict->libraries_bytes = less (facts[CLI_OOM_OWN], facts[CLI_OOM_RESERVED]);
  for (size_t i = 0; i < oom->n_others; i++)
    verdict->others_bytes += oom->others[i].bytes;
  /* Processes on other slices of the GPU (MIG) are told of as if on this one. */
  if (used_bytes + verdict->libraries_bytes + verdict->others_bytes >
      capacity_bytes + slack_bytes)
    verdict->others_bytes = 0;
  used_bytes += verdict->libraries_bytes + verdict->others_bytes;
  verdict->rest_bytes = less (capacity_bytes, used_bytes);
  if (used_bytes > capacity_bytes + slack_bytes)
    verdict->spilled_bytes = used_bytes - capacity_bytes;
  verdict->foreign_bytes = verdict->others_bytes;
  if (verdict->rest_bytes > MAX (LIBRARIES_BYTES, capacity_bytes / 8) &&
      !says (oom, ASYNC))
    verdict->foreign_bytes += verdict->rest_bytes;
}

/* Of a whole sentence. */
static Cause
find_device_cause (const CliOom *oom, const Verdict *verdict)
{
  const guint64 *facts = oom->facts;
  guint64 asked_bytes = facts[CLI_OOM_ASKED], free_bytes = facts[CLI_OOM_FREE];
  guint64 pieces_bytes = free_bytes + facts[CLI_OOM_UNALLOCATED];
  guint64 allowed_bytes = facts[CLI_OOM_ALLOWED];

  if (free_bytes >= asked_bytes && allowed_bytes != CLI_OOM_UNKNOWN &&
      less (allowed_bytes, facts[CLI_OOM_RESERVED]) <
          asked_bytes + rounding_of (allowed_bytes))
    return CAUSE_FRACTION;
  if (free_bytes >= asked_bytes)
    return CAUSE_HAD_ROOM;
  if (says (oom, ASYNC))
    return CAUSE_UNKNOWN;
  if (pieces_bytes >= asked_bytes &&
      facts[CLI_OOM_UNALLOCATED] >= facts[CLI_OOM_RESERVED] / 20)
    return CAUSE_FRAGMENTATION;
  if (verdict->foreign_bytes >= facts[CLI_OOM_CAPACITY] / 20 &&
      free_bytes + verdict->foreign_bytes >= asked_bytes)
    return CAUSE_OTHER_PROCESS;
  if (pieces_bytes >= asked_bytes)
    return CAUSE_FULL;
  return pieces_bytes + facts[CLI_OOM_PRIVATE] >= asked_bytes ? CAUSE_PRIVATE_POOLS
                                                              : CAUSE_SIZE;
}

static Cause
find_cause (const CliOom *oom, const Verdict *verdict)
{
  if (oom->kind != CLI_OOM_PYTORCH)
    return (Cause) (CAUSE_NCCL + (oom->kind - CLI_OOM_NCCL));
  if (says (oom, "backing this MemPool returned"))
    return CAUSE_MEMPOOL;
  if (says (oom, "exceeds the expandable-segment reserve"))
    return CAUSE_RESERVE;
  if (says (oom, "preemptively rejected"))
    return CAUSE_FRACTION;
  return verdict->is_whole ? find_device_cause (oom, verdict) : CAUSE_UNKNOWN;
}

/* "Process 7478 has 4.08 GiB of this GPU"; NULL: nobody else has. */
static char *
foreign_text (const CliOom *oom, const Verdict *verdict)
{
  if (verdict->foreign_bytes == 0)
    return NULL;
  if (verdict->others_bytes == 0)
    return g_strdup_printf ("%s of this GPU are held by what the error does not name: a "
                            "process of another user or container, or a desktop",
                            TESSERA_SIZE (verdict->foreign_bytes));
  if (oom->n_others == 1)
    return g_strdup_printf ("Process %" G_GUINT64_FORMAT " has %s of this GPU",
                            oom->others[0].pid, TESSERA_SIZE (verdict->others_bytes));
  return g_strdup_printf ("%zu other processes have %s of this GPU", oom->n_others,
                          TESSERA_SIZE (verdict->others_bytes));
}

/* @text with what is known. @foreign: (nullable) */
static char *
fill_in (const CliOom *oom, const Verdict *verdict, const char *foreign, const char *text)
{
  static const char *const settings[] = { "PYTORCH_CUDA_ALLOC_CONF",
                                          "PYTORCH_HIP_ALLOC_CONF",
                                          "PYTORCH_ALLOC_CONF" };
  const guint64 *facts = oom->facts;
  const char *asked = TESSERA_SIZE (facts[CLI_OOM_ASKED]);
  const gboolean is_expanded = says (oom, "expandable_segments is enabled");
  GString *filled = g_string_new (text);
  size_t i = 0;

  /* By the name that this version knows: it says so itself. */
  while (i + 1 < G_N_ELEMENTS (settings) && !says (oom, settings[i]))
    i++;
  const char *const values[][2] = {
    { "@FOR@", facts[CLI_OOM_ASKED] != CLI_OOM_UNKNOWN ? " for @ASKED@" : "" },
    { "@ASKED@", asked },
    { "@FREE@", TESSERA_SIZE (facts[CLI_OOM_FREE]) },
    { "@PIECES@", TESSERA_SIZE (facts[CLI_OOM_UNALLOCATED]) },
    { "@ALLOCATED@", TESSERA_SIZE (facts[CLI_OOM_ALLOCATED]) },
    { "@CAPACITY@", TESSERA_SIZE (facts[CLI_OOM_CAPACITY]) },
    { "@ALLOWED@", TESSERA_SIZE (facts[CLI_OOM_ALLOWED]) },
    { "@RESERVED@", TESSERA_SIZE (facts[CLI_OOM_RESERVED]) },
    { "@PRIVATE@", TESSERA_SIZE (facts[CLI_OOM_PRIVATE]) },
    { "@MISSING@", TESSERA_SIZE (verdict->missing_bytes) },
    { "@FOREIGN@", foreign != NULL ? foreign : "" },
    { "@EXPANDED@", is_expanded ? ", though they are expandable" : "" },
    { "@HAD_ROOM@", is_expanded ? "So the process ran out of address space, of which "
                                  "expandable segments set much aside"
                                : "So another process or a library had it for a moment, "
                                  "or the driver refused for another reason" },
    { "@WHY@", verdict->is_whole ? "with cudaMallocAsync the driver keeps the pool"
                                 : "the rest of the sentence is missing" },
    { "@SETTINGS@", settings[i] },
    { "@SMI@",
      says (oom, "HIP") || says (oom, "hip")
          ? "rocm-smi --showpids"
          : "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv" },
  };
  for (size_t k = 0; k < G_N_ELEMENTS (values); k++)
    g_string_replace (filled, values[k][0], values[k][1], 0);
  return g_string_free (filled, FALSE);
}

static Verdict
judge (const CliOom *oom)
{
  const guint64 *facts = oom->facts;
  Verdict verdict = { .is_whole = oom->kind == CLI_OOM_PYTORCH &&
                                  facts[CLI_OOM_ASKED] != CLI_OOM_UNKNOWN &&
                                  facts[CLI_OOM_CAPACITY] != CLI_OOM_UNKNOWN &&
                                  facts[CLI_OOM_FREE] != CLI_OOM_UNKNOWN &&
                                  facts[CLI_OOM_ALLOCATED] != CLI_OOM_UNKNOWN };

  if (verdict.is_whole)
    {
      find_parts (oom, &verdict);
      verdict.missing_bytes =
          less (facts[CLI_OOM_ASKED], facts[CLI_OOM_FREE] + facts[CLI_OOM_UNALLOCATED]);
    }
  verdict.cause = find_cause (oom, &verdict);
  g_autofree char *foreign = foreign_text (oom, &verdict);
  const char *sized = verdict.is_whole ? causes[verdict.cause].sized : NULL;
  g_autofree char *sentence = fill_in (
      oom, &verdict, foreign, sized != NULL ? sized : causes[verdict.cause].bare);
  gboolean has_more = foreign != NULL && verdict.cause != CAUSE_OTHER_PROCESS &&
                      verdict.foreign_bytes >= facts[CLI_OOM_CAPACITY] / 20;
  verdict.sentence = has_more ? g_strdup_printf ("%s %s.", sentence, foreign)
                              : g_steal_pointer (&sentence);
  return verdict;
}

/* The parts of the device */

static void
add_part (CliTable *table, const char *name, guint64 bytes, const char *meaning)
{
  if (bytes == 0)
    return;
  cli_table_text (table, name);
  cli_table_integer (table, bytes);
  cli_table_text (table, meaning);
}

static void
tell_parts (const CliOom *oom, const Verdict *verdict)
{
  static const char *const columns[] = { "part", "size_bytes", "meaning", NULL };
  const guint64 *facts = oom->facts;
  CliTable *table = cli_table_new ("parts", columns);

  if (verdict->is_whole)
    {
      add_part (table, "tensors", facts[CLI_OOM_ALLOCATED] - facts[CLI_OOM_PRIVATE],
                "what the program holds, as PyTorch rounds it");
      add_part (table, "in pieces", facts[CLI_OOM_UNALLOCATED],
                "free inside PyTorch's segments, beside tensors that hold these");
      add_part (table, "private pools", facts[CLI_OOM_PRIVATE],
                "free, but kept for CUDA graphs or a MemPool");
      add_part (table, "libraries", verdict->libraries_bytes,
                "this process beside PyTorch: CUDA context, cuBLAS, NCCL");
      for (size_t i = 0; i < oom->n_others && verdict->others_bytes > 0; i++)
        {
          g_autofree char *name =
              g_strdup_printf ("process %" G_GUINT64_FORMAT, oom->others[i].pid);
          add_part (table, name, oom->others[i].bytes, "another process");
        }
      add_part (table, "unnamed", verdict->rest_bytes,
                facts[CLI_OOM_OWN] != CLI_OOM_UNKNOWN
                    ? "the driver, and what the error does not name"
                    : "CUDA context, libraries, other processes");
      add_part (table, "free", facts[CLI_OOM_FREE], "at the driver");
      if (!cli_given.json)
        {
          add_part (table, "= GPU", facts[CLI_OOM_CAPACITY], "its capacity");
          add_part (table, "+ host", verdict->spilled_bytes,
                    "moved to the host's memory by the driver");
        }
    }
  cli_table_print (table);
}

/* What to type */

#define OF(cause) (1u << CAUSE_##cause)
#define OF_OUTSIDE (OF (NCCL) | OF (LIBRARY) | OF (DRIVER))
#define OF_PYTORCH                                                                       \
  (OF (UNKNOWN) | OF (FRAGMENTATION) | OF (FULL) | OF (SIZE) | OF (PRIVATE_POOLS) |      \
   OF (FRACTION) | OF (HAD_ROOM))

/* In order of rank. Filled in as sentences are. */
static const struct
{
  unsigned causes; /* OF() */
  const char *type, *why;
} advices[] = {
  { OF (FRACTION), "torch.cuda.set_per_process_memory_fraction(1.0)",
    "or leave out the call, or per_process_memory_fraction, that set the limit" },
  { OF (FRAGMENTATION), "@SETTINGS@=expandable_segments:True python train.py",
    "pieces become of use to requests of any size: up to @PIECES@ more" },
  { OF (PRIVATE_POOLS), "torch.compile(model)",
    "without mode=\"reduce-overhead\", whose CUDA graphs keep memory of their own; "
    "graphs of your own can share one: torch.cuda.graph(g, pool=first.pool())" },
  { OF (RESERVE), "@SETTINGS@=expandable_segments:True python train.py",
    "with no expandable_segments_reserve in it" },
  { OF (OTHER_PROCESS) | OF (HAD_ROOM) | OF_OUTSIDE, "@SMI@",
    "who has the GPU's memory; a process that outlived its run can be ended" },
  { OF (OTHER_PROCESS), "CUDA_VISIBLE_DEVICES=1 python train.py",
    "on a GPU that nobody uses, if there is one" },
  { OF_OUTSIDE, "torch.cuda.set_per_process_memory_fraction(0.9)",
    "called first, PyTorch then leaves a tenth of the GPU to libraries" },
  { OF (HOST), "free -h", "what the host has; fewer workers of DataLoader need less" },
  { OF (SIZE) | OF (FULL) | OF (FRAGMENTATION) | OF (UNKNOWN),
    "tessera dry-run -- python train.py",
    "with no GPU: the least that the job needs, its peak, which GPU it fits, also with a "
    "smaller batch" },
  { OF (FULL), "@SETTINGS@=expandable_segments:True python train.py",
    "wins @PIECES@ at most" },
  { OF_PYTORCH,
    "torch.cuda.memory._record_memory_history(stacks=\"python\")  # before the first "
    "CUDA tensor\ntorch.cuda.memory._dump_snapshot(\"oom.pickle\")  # in except "
    "torch.cuda.OutOfMemoryError:\ntessera info oom.pickle  # in the shell",
    "what held the memory, block by block and line by line" },
  { OF (FRAGMENTATION) | OF (FULL) | OF (PRIVATE_POOLS),
    "tessera record --policy direct -o run-%r.tsr -- python train.py",
    "on the GPU: only what is alive has to fit, so the run may go on and be planned" },
};

static void
tell_advice (const CliOom *oom, const Verdict *verdict)
{
  /* Up to 2.0 the sentence has parentheses, and segments do not expand. */
  gboolean can_expand =
      !says (oom, "expandable_segments is enabled") && !says (oom, "reserved in total");
  unsigned n = 0;

  cli_array ("advice");
  for (size_t i = 0; i < G_N_ELEMENTS (advices); i++)
    {
      gboolean expands = strstr (advices[i].type, "expandable_segments") != NULL;
      if (!(advices[i].causes >> verdict->cause & 1) ||
          (expands && !can_expand && verdict->cause != CAUSE_RESERVE))
        continue;
      g_autofree char *type = fill_in (oom, verdict, NULL, advices[i].type);
      g_autofree char *why = fill_in (oom, verdict, NULL, advices[i].why);
      g_auto (GStrv) lines = g_strsplit (type, "\n", -1);
      g_autofree char *shown = g_strjoinv ("\n     ", lines);
      cli_say ("%s%3u. %s\n       %s\n", n == 0 ? "\nWhat to type\n" : "", n + 1, shown,
               why);
      cli_object (NULL);
      cli_member ("type", type);
      cli_member ("why", why);
      cli_close ();
      n++;
    }
  cli_close ();
}

/* The answer */

static void
tell_places (const CliOom *oom)
{
  static const char *const columns[] = { "rank", "gpu", "errors", NULL };
  CliTable *table = cli_table_new ("errors_by_place", columns);

  for (size_t i = 0; i < oom->n_places && (cli_given.json || oom->n_errors > 1); i++)
    {
      const CliOomPlace *place = &oom->places[i];
      CLI_INTEGERS (table, place->rank, place->gpu, place->n_errors);
    }
  cli_table_print (table);
}

static void
tell_facts (const CliOom *oom, const Verdict *verdict)
{
  static const char *const columns[] = { "pid", "size_bytes", NULL };
  static const char *const names[] = {
    [CLI_OOM_ASKED] = "request_bytes",
    [CLI_OOM_CAPACITY] = "capacity_bytes",
    [CLI_OOM_FREE] = "free_bytes",
    [CLI_OOM_ALLOWED] = "allowed_bytes",
    [CLI_OOM_ALLOCATED] = "allocated_bytes",
    [CLI_OOM_PRIVATE] = "private_pools_bytes",
    [CLI_OOM_UNALLOCATED] = "unallocated_bytes",
    [CLI_OOM_RESERVED] = "reserved_bytes",
    [CLI_OOM_OWN] = "process_bytes",
  };
  guint64 unknown = verdict->is_whole ? 0 : CLI_OOM_UNKNOWN;

  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    cli_member (names[i], oom->facts[i]);
  cli_member ("missing_bytes", unknown | verdict->missing_bytes);
  cli_member ("spilled_bytes", unknown | verdict->spilled_bytes);
  CliTable *table = cli_table_new ("other_processes", columns);
  for (size_t i = 0; cli_given.json && i < oom->n_others; i++)
    {
      CLI_INTEGERS (table, oom->others[i].pid, oom->others[i].bytes);
    }
  cli_table_print (table);
}

/* Where the error stands, and where in the program it came about. */
static void
tell_source (const char *source, const CliOom *oom)
{
  cli_say ("\n%s: line %" G_GUINT64_FORMAT, cli_shown (source), oom->line);
  if (oom->rank != CLI_OOM_UNKNOWN)
    cli_say (", rank %" G_GUINT64_FORMAT, oom->rank);
  if (oom->gpu != CLI_OOM_UNKNOWN)
    cli_say (", GPU %" G_GUINT64_FORMAT, oom->gpu);
  if (oom->file != NULL)
    cli_say ("; in %s, %s:%" G_GUINT64_FORMAT, cli_shown (oom->function),
             cli_shown (oom->file), oom->file_line);
  cli_say ("\n");
  cli_member ("file", source);
  cli_member ("line", oom->line);
  cli_member ("rank", oom->rank);
  cli_member ("gpu", oom->gpu);
  cli_member ("program_file", oom->file);
  cli_member ("program_line", oom->file_line);
  cli_member ("program_function", oom->function);
}

static void
tell (const char *source, const CliOom *oom, const Verdict *verdict)
{
  static const char *const kinds[] = { [CLI_OOM_PYTORCH] = "pytorch",
                                       [CLI_OOM_NCCL] = "nccl",
                                       [CLI_OOM_LIBRARY] = "library",
                                       [CLI_OOM_DRIVER] = "driver",
                                       [CLI_OOM_HOST] = "host" };

  cli_say ("%s\n%s", verdict->sentence, verdict->is_whole ? "\n" : "");
  cli_member ("kind", kinds[oom->kind]);
  cli_member ("cause", causes[verdict->cause].name);
  cli_member ("sentence", verdict->sentence);
  tell_facts (oom, verdict);
  tell_parts (oom, verdict);
  if (oom->is_own_guessed)
    cli_say ("\nThis process goes by another number, as in a container: it is taken to "
             "be the one that\ncan hold what PyTorch reserved.\n");
  cli_member_bool ("process_is_guessed", oom->is_own_guessed);
  tell_advice (oom, verdict);
  tell_source (source, oom);
  cli_member ("errors", oom->n_errors);
  if (oom->n_errors > 1)
    cli_say ("the last of %" G_GUINT64_FORMAT " errors:\n", oom->n_errors);
  tell_places (oom);
}

/* Returns: what was read, in words. */
static const char *
read_input (CliOom *oom, int n_files, char **files)
{
  const char *name = n_files == 0 || g_str_equal (files[0], "-") ? NULL : files[0];
  gboolean is_text = name != NULL && (n_files > 1 || strchr (name, ' ') != NULL);
  int fd = STDIN_FILENO;

  if (is_text && !g_file_test (name, G_FILE_TEST_EXISTS))
    {
      g_autofree char *text = g_strjoinv (" ", files);
      cli_oom_read_text (oom, text, strlen (text));
      return "the text given";
    }
  if (n_files > 1)
    cli_usage ("expected one FILE, got %d", n_files);
  if (name != NULL && (fd = open (name, O_RDONLY | O_CLOEXEC)) < 0)
    cli_fail_with ("%s cannot be opened: %s", name, g_strerror (errno));
  if (name == NULL && isatty (fd))
    fputs ("Paste the error, then press Ctrl+D on a line of its own.\n", stderr);
  int failure = cli_oom_read (oom, fd);
  if (name != NULL)
    close (fd);
  if (failure != 0)
    cli_fail_with ("%s cannot be read: %s", name != NULL ? name : "standard input",
                   g_strerror (failure));
  return name != NULL ? name : "standard input";
}

static int
run_oom (int n_files, char **files)
{
  CliOom oom = { 0 };
  const char *source = read_input (&oom, n_files, files);

  if (oom.n_errors == 0)
    cli_fail_with ("%s: no out-of-memory error of PyTorch, CUDA, NCCL or cuBLAS is in "
                   "it; give the log that has the line \"CUDA out of memory. Tried to "
                   "allocate ...\", or that line",
                   source);
  Verdict verdict = judge (&oom);
  tell (source, &oom, &verdict);
  g_free (verdict.sentence);
  cli_oom_clear (&oom);
  return CLI_DONE;
}

static const GOptionEntry oom_options[] = {
  { CLI_OPTION ("json", NONE, &cli_given.json), "Print JSON" }, { NULL }
};

const CliCommand cli_oom = {
  .name = "oom",
  .synopsis = "[FILE|TEXT]",
  .summary = "why did it die, from the error's text alone",
  .help = "FILE is a log of any size (default, or \"-\": standard input), TEXT the error "
          "itself. The last\nout-of-memory error in it is explained: PyTorch's of 2.0 to "
          "2.15, and those of the driver, NCCL\nand cuBLAS. The parts sum to the GPU's "
          "capacity; sizes are rounded, as the error has them.",
  .n_least = 0,
  .n_most = -1,
  .options = oom_options,
  .run = run_oom,
};
