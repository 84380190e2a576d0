/*
 * What the process has from whoever started it, and what it leaves: standard streams, and
 * signals.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Once, first of all. A stream that is closed becomes /dev/null, so that no file of ours
 * takes its number and what is printed with it. A write beyond a limit of file size fails
 * like one to a full disk, and does not end the process. When the process ends and stdout was
 * printed to but could not be written, or was closed, a sentence says so and the status is
 * CLI_FAILED.
 *
 * SIGINT, SIGTERM and SIGHUP, unless they are ignored, end the process at once and
 * whatever it does: temporary files go, a sentence says which signal came, and the process
 * dies of that signal.
 */
void cli_process_begin (void);

/* Prints what is read on terminals, and holds names that came from anywhere: its control
 * characters are shown, but for line ends. */
void cli_process_print (const char *text);
/* Prints a table that programs read: byte by byte. */
void cli_process_print_data (const char *data, size_t n_bytes);

/* Standard output is the result's: what is printed from now on goes to standard error. */
void cli_process_print_to_stderr (void);

/* Which signals ask the work to stop instead. */
typedef enum
{
  CLI_ASK_NEVER,
  CLI_ASK_ON_ALL, /* SIGINT, SIGTERM and SIGHUP */
  CLI_ASK_CHILD,  /* all go to the child of cli_process_pass_to() */
} CliProcessAsk;

/* The first such signal asks; the next one ends the process as ever, unless they go to a child. */
void cli_process_ask (CliProcessAsk when);
/* The signal that came since the last cli_process_ask(); 0: none did. */
int cli_process_asked_by (void);

/* Where signals go; with one that came before there was anybody to pass it on to. Ctrl-C reaches
 * a child from the terminal. */
void cli_process_pass_to (pid_t child);

/* In a child that works for this command, whose parent says which signal came. */
void cli_process_end_silently (void);

/* SIGXFSZ is again what it was: in a child, or before this process becomes another
 * program. Safe between fork and exec. */
void cli_process_restore (void);
