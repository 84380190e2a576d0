/*
 * What all subcommands share: the command line, sentences that end the command, progress,
 * and where a result is written.
 *
 * A subcommand is a CliCommand in its own file, listed in main.c. It returns its exit
 * status: 0 done, 1 the input is at fault, 2 the command line is. A dry run also answers
 * by it: 3 the job does not fit, 4 the script failed. What fails on the way ends the
 * command where it is found, with one sentence on stderr: nobody passes it on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "db/size-text.h"
#include "db/store.h"
#include "planner/pack.h"

#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_DOES_NOT_FIT 3
#define CLI_SCRIPT_FAILED 4

/* What a subcommand's command line holds beside its own options. */
typedef enum
{
  CLI_READS_TRACE = 1 << 0,  /* --json, --device, --device-memory, --memory-limit */
  CLI_RUNS_PROGRAM = 1 << 1, /* what follows the options is a program with its own */
  CLI_NEEDS_OUTPUT = 1 << 2, /* -o has to be given */
  CLI_WRITES_TRACE = 1 << 3, /* what -o names may be replaced where it is a trace ... */
  CLI_WRITES_PLAN = 1 << 4,  /* ... a plan ... */
  CLI_WRITES_OTHER = 1 << 5, /* ... or neither */
  CLI_PLANS = 1 << 6,        /* --across-streams, --streams-apart */
} CliTakes;

typedef struct
{
  const char *name;
  const char *synopsis; /* "FILE -o T.tsr" */
  const char *summary;  /* one line, lower case */
  const char *help;     /* what it prints and how to read it */
  unsigned takes;       /* CliTakes */
  int n_least, n_most;  /* files, or words of the program; most -1: any number, 0: 1 */
  const GOptionEntry *options; /* (nullable): its own */
  int (*run) (int n_files, char **files);
} CliCommand;

extern const CliCommand cli_check, cli_compare, cli_diff, cli_dry_run, cli_edits,
    cli_explain, cli_export, cli_fit, cli_gate, cli_import, cli_info, cli_job, cli_oom,
    cli_plan, cli_record, cli_render, cli_report, cli_run, cli_simulate, cli_view;

/* The options that several subcommands have, as given. */
typedef struct
{
  gboolean json;
  gint device;                       /* -1: the one with most events */
  guint64 device_bytes, limit_bytes; /* 0: not told */
  gboolean across_streams, streams_apart;
  char *output;
  gboolean force;
  char *edits_path;
  gboolean no_edits;
} CliGiven;

extern CliGiven cli_given;

/* How an entry of a table of options begins, of one of GLib's kinds (G_OPTION_ARG_...): what
 * --help says of it follows, and what it calls the value. */
#define CLI_OPTION(name, kind, variable) name, 0, 0, G_OPTION_ARG_##kind, variable

/* Entries that several tables have. */
#define CLI_OPTION_OUTPUT(text, value)                                                   \
  {                                                                                      \
    "output", 'o', 0, G_OPTION_ARG_FILENAME, &cli_given.output, text, value              \
  }
#define CLI_OPTION_FORCE                                                                 \
  {                                                                                      \
    CLI_OPTION ("force", NONE, &cli_given.force),                                        \
        "Overwrite a file that is something else than what is written"                   \
  }
#define CLI_OPTION_FOLLOW(variable)                                                      \
  {                                                                                      \
    CLI_OPTION ("follow", STRING, variable),                                             \
        "length: also steps of other lengths than those it was made from; trace: "       \
        "the same batches only (default: length where the plan has steps that vary)",    \
        "length|trace"                                                                   \
  }
#define CLI_OPTION_EDITS                                                                 \
  {                                                                                      \
    CLI_OPTION ("edits", FILENAME, &cli_given.edits_path),                               \
        "Apply these edits (JSON, or a .tsp's or .tsr's), not those kept with FILE",     \
        "EDITS"                                                                          \
  }
#define CLI_OPTION_NO_EDITS                                                              \
  {                                                                                      \
    CLI_OPTION ("no-edits", NONE, &cli_given.no_edits),                                  \
        "The plan without the edits that are kept with FILE"                             \
  }

/* Parses the command line into cli_given and the command's own options, and looks at what
 * -o names. Mistakes end the command. Returns: its exit status */
int cli_start (const CliCommand *command, int argc, char **argv);

/* Ends the command: the sentence on stderr with the way to --help, status CLI_USAGE. */
G_NORETURN void cli_usage (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Only the sentence. */
void cli_complain (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Ends the command: the sentence on stderr, status CLI_FAILED. */
G_NORETURN void cli_fail (const TesseraError *error);
G_NORETURN void cli_fail_with (const char *format, ...) G_GNUC_PRINTF (1, 2);
/* Where the next call is to say what went wrong, and the end of the command if it did:
 * cli_must (tessera_plan_load (path, cli_error (), &plan)). */
TesseraError *cli_error (void);
void cli_must (TesseraStatus status);
/* The sentence names the file that it is about: @path goes before it where it does not. */
void cli_must_of (const char *path, TesseraStatus status);

/* Readers of options; what is wrong ends the command. NULL leaves the value as it is. */
void cli_read_size (const char *option, const char *text, guint64 *bytes);
void cli_read_least (const char *option, gint64 value, gint64 least, const char *what);
/* "3", "1..2" or what is @between; returns FALSE: not a range of whole numbers that ascends. */
gboolean cli_read_range (const char *text,
                         const char *between,
                         guint64 *out_first,
                         guint64 *out_last);
/* "3", "1-2"; returns FALSE: not a range of steps, which is then -1, all. */
gboolean cli_read_steps (const char *text, gint64 *out_first, gint64 *out_last);
/* Position of @text among @names, which end with NULL, or -1. NULL: the first. */
int cli_choose (const char *text, const char *const *names);

/* @text, which came from anywhere, as one line that can be printed: itself or a text that
 * is kept. */
const char *cli_shown (const char *text);

/* A progress line on stderr while stderr is a terminal. */
const TesseraProgress *cli_progress (const char *what);
void cli_progress_end (void);
/* What the planner tells goes into that line. */
const TesseraListener *cli_listener (void);

/*
 * cli_check_output:
 * @input: (nullable): the file that is read
 * @output: the file that is to be written
 * @writes: one of CliTakes; 0: any file may be replaced
 *
 * Ends the command where @output can't be written or must not be: a folder in its place,
 * a folder that is not there, @input itself, which would be lost, or (without --force)
 * what is neither empty nor of the kind that is written, say a script in place of a trace
 * or a trace in place of a picture. Where it is standard output, what is to be read goes
 * to standard error.
 */
void cli_check_output (const char *input, const char *output, unsigned writes);
/* Of a trace that a run writes: it grows, in a file. */
void cli_check_recording (const char *input, const char *output);
