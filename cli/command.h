/*
 * The `tessera` command: one file per subcommand, one table in main.c.
 *
 * A subcommand returns its exit status: 0 done, 1 the input is at fault (one sentence on
 * stderr), 2 the command line is. A dry run also answers by it: 3 the job does not fit, 4
 * the script failed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <json-glib/json-glib.h>

#include "db/size-text.h"
#include "db/status.h"
#include "planner/pack.h"

#define CLI_DONE 0
#define CLI_FAILED 1
#define CLI_USAGE 2
#define CLI_DOES_NOT_FIT 3
#define CLI_SCRIPT_FAILED 4

typedef struct
{
  const char *name;
  const char *synopsis;               /* "FILE -o T.tsr" */
  const char *summary;                /* one line, lower case */
  const char *help;                   /* what it prints and how to read it */
  int (*run) (int argc, char **argv); /* argv[0] is the subcommand */
  gboolean takes_program; /* what follows the options is a program with its own */
} CliCommand;

/* main says which command runs, before it does: for the help text. */
void cli_set_command (const CliCommand *command);

int cli_import (int argc, char **argv);
int cli_info (int argc, char **argv);
int cli_simulate (int argc, char **argv);
int cli_fit (int argc, char **argv);
int cli_plan (int argc, char **argv);
int cli_explain (int argc, char **argv);
int cli_edits (int argc, char **argv);
int cli_check (int argc, char **argv);
int cli_compare (int argc, char **argv);
int cli_bench (int argc, char **argv);
int cli_export (int argc, char **argv);
int cli_render (int argc, char **argv);
int cli_report (int argc, char **argv);
int cli_view (int argc, char **argv);
int cli_dry_run (int argc, char **argv);
int cli_record (int argc, char **argv);
int cli_run (int argc, char **argv);

/* Options that every subcommand reading a trace understands. */
typedef struct
{
  gboolean json;
  gint device; /* -1: the one with most events */
  guint64 device_bytes;
  guint64 limit_bytes;
} CliCommon;

/*
 * cli_parse:
 * @entries: (nullable): the subcommand's own options
 * @common: (nullable): filled when given
 * @min_files, @max_files: how many arguments must remain (max -1: any number)
 *
 * Parses argv by GOption; on a mistake prints it with the way to --help.
 *
 * Returns: true when the remaining arguments are in argv[1 .. *argc)
 */
gboolean cli_parse (const char *name,
                    int *argc,
                    char ***argv,
                    GOptionEntry *entries,
                    CliCommon *common,
                    int min_files,
                    int max_files);

/* "3", "1-2"; false: not a range of steps. */
gboolean cli_parse_steps (const char *text, gint64 *out_first, gint64 *out_last);

int cli_fail (const TesseraError *error);
int cli_usage (const char *name, const char *format, ...) G_GNUC_PRINTF (2, 3);

/* @text, which came from anywhere, as one line that can be printed: itself or a text that
 * is kept. */
const char *cli_shown (const char *text);

/* A progress line on stderr while stderr is a terminal. */
const TesseraProgress *cli_progress (const char *what);
void cli_progress_end (void);
/* What the planner tells goes into that line. */
const TesseraListener *cli_listener (void);

/* Prints a finished builder's root on stdout. */
void cli_print_json (JsonBuilder *builder);
/* Members of the object under construction. */
void cli_json_bytes (JsonBuilder *builder, const char *key, guint64 bytes);
void cli_json_text (JsonBuilder *builder, const char *key, const char *text);
void cli_json_bool (JsonBuilder *builder, const char *key, gboolean value);
void cli_json_number (JsonBuilder *builder, const char *key, double value);
