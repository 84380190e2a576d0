/*
 * An out-of-memory error as its text tells it.
 *
 * PyTorch's sentence has the capacity, what is free at the driver, and what PyTorch holds
 * with and without a tensor in it; what fails outside of PyTorch's allocator tells no
 * sizes. Sizes are rounded to a hundredth of their unit: sums are no more exact than that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

/* Of every number: not told. */
#define CLI_OOM_UNKNOWN G_MAXUINT64
#define CLI_OOM_PROCESSES 16
#define CLI_OOM_PLACES 16

/* In the order of the groups of oom-text.c's pattern. */
typedef enum
{
  CLI_OOM_PYTORCH,
  CLI_OOM_NCCL,
  CLI_OOM_LIBRARY, /* cuBLAS, cuDNN and the like */
  CLI_OOM_DRIVER,
  CLI_OOM_HOST,
} CliOomKind;

typedef enum
{
  CLI_OOM_ASKED, /* of the driver: 2 or 20 MiB where small tensors share a segment */
  CLI_OOM_CAPACITY,
  CLI_OOM_FREE, /* at the driver */
  CLI_OOM_ALLOWED,
  CLI_OOM_ALLOCATED,   /* with what lies free in private pools */
  CLI_OOM_PRIVATE,     /* free, but for the graphs of its pool alone; 0: none */
  CLI_OOM_UNALLOCATED, /* free inside of PyTorch's segments */
  CLI_OOM_RESERVED,    /* all three: what versions up to 2.0 tell */
  CLI_OOM_OWN,         /* this process, with what is not PyTorch's */
  CLI_OOM_N_FACTS
} CliOomFact;

typedef struct
{
  guint64 pid, bytes;
} CliOomProcess;

/* Where errors came from. */
typedef struct
{
  guint64 rank, gpu, n_errors;
} CliOomPlace;

typedef struct
{
  guint64 n_errors;
  CliOomPlace places[CLI_OOM_PLACES]; /* the first ones */
  size_t n_places;
  /* The last error. */
  guint64 line; /* of the text, from 1 */
  CliOomKind kind;
  guint64 rank, gpu;
  guint64 facts[CLI_OOM_N_FACTS]; /* in bytes */
  CliOomProcess others[CLI_OOM_PROCESSES];
  size_t n_others;
  gboolean is_own_guessed; /* a container knows itself by another number */
  char *text;              /* the sentence and what follows, as one line */
  /* The innermost line of the program's own in the traceback; NULL: none. */
  char *file, *function;
  guint64 file_line;
} CliOom;

/* Reads @fd to its end. Returns: 0 or errno */
int cli_oom_read (CliOom *oom, int fd);
void cli_oom_read_text (CliOom *oom, const char *text, size_t n);
void cli_oom_clear (CliOom *oom);
