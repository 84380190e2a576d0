/* See process.h. SPDX-License-Identifier: Apache-2.0 */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "db/output.h"

static struct sigaction before; /* of SIGXFSZ */

static FILE *printed_to; /* NULL: standard output */
static bool is_closed,
    is_asked;             /* standard output: it was; something was to be printed */
static int print_failure; /* errno of the first write that failed; 0: none did */

static const struct
{
  int number;
  const char *text;
} ending[] = {
  { SIGINT, "tessera: stopped by SIGINT (ctrl-C) before the end\n" },
  { SIGTERM, "tessera: stopped by SIGTERM before the end\n" },
  { SIGHUP, "tessera: stopped by SIGHUP before the end\n" },
};

static volatile sig_atomic_t asks, asked_by, is_silent; /* asked_by: a signal */
static volatile pid_t passed_to;                        /* 0: to nobody yet */

static void
tell (const char *text)
{
  ssize_t n = write (STDERR_FILENO, text, strlen (text));
  (void) n;
}

/* Calls only what may be called while anything else is interrupted. */
static void
end (int number, siginfo_t *info, void *context)
{
  const struct sigaction as_ever = { .sa_handler = SIG_DFL };
  sigset_t only;

  if (asks == CLI_ASK_CHILD)
    {
      asked_by = number;
      /* Ctrl-C goes to everything in the foreground: the child has had it. */
      if (passed_to > 0 && !(number == SIGINT && info->si_code == SI_KERNEL))
        kill (passed_to, number);
      return;
    }
  if (asks == CLI_ASK_ON_ALL)
    {
      asks = CLI_ASK_NEVER;
      asked_by = number;
      return;
    }
  tessera_outputs_remove ();
  if (isatty (STDERR_FILENO))
    tell ("\r\033[K"); /* over the line of progress */
  for (size_t i = 0; i < G_N_ELEMENTS (ending); i++)
    if (ending[i].number == number && !is_silent)
      tell (ending[i].text);
  sigaction (number, &as_ever, NULL);
  sigemptyset (&only);
  sigaddset (&only, number);
  pthread_sigmask (SIG_UNBLOCK, &only, NULL);
  raise (number);
}

/* What was ignored (nohup) stays so. */
static void
watch_signals (void)
{
  const struct sigaction action = { .sa_sigaction = end,
                                    .sa_flags = SA_RESTART | SA_SIGINFO };
  struct sigaction had;

  for (size_t i = 0; i < G_N_ELEMENTS (ending); i++)
    if (sigaction (ending[i].number, NULL, &had) == 0 && had.sa_handler != SIG_IGN)
      sigaction (ending[i].number, &action, NULL);
}

void
cli_process_ask (CliProcessAsk when)
{
  asked_by = 0;
  passed_to = 0;
  asks = (sig_atomic_t) when;
}

void
cli_process_pass_to (pid_t child)
{
  passed_to = child;
  if (asked_by != 0)
    kill (child, asked_by);
}

int
cli_process_asked_by (void)
{
  return asked_by;
}

void
cli_process_end_silently (void)
{
  is_silent = 1;
}

static void
open_streams (void)
{
  int opened;

  is_closed = fcntl (STDOUT_FILENO, F_GETFD) < 0;
  opened = open ("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO)
    opened = open ("/dev/null", O_RDWR);
  if (opened >= 0)
    close (opened);
}

void
cli_process_print_data (const char *data, size_t n_bytes)
{
  FILE *to = printed_to != NULL ? printed_to : stdout;

  is_asked = is_asked || (to == stdout && n_bytes > 0);
  if (fwrite (data, 1, n_bytes, to) < n_bytes && print_failure == 0)
    print_failure = errno;
}

void
cli_process_print (const char *text)
{
  g_autoptr (GString) shown = g_string_new (NULL);
  char letter[TESSERA_SHOWN_BYTES];

  while (*text != '\0')
    if (*text == '\n')
      g_string_append_c (shown, *text++);
    else
      {
        text += tessera_show_letter (text, letter);
        g_string_append (shown, letter);
      }
  cli_process_print_data (shown->str, shown->len);
}

static void
flush_stdout (void)
{
  if (fflush (stdout) != 0 && print_failure == 0)
    print_failure = errno;
  if (print_failure == 0 && !(is_closed && is_asked))
    return;
  fprintf (stderr, "tessera: what was to be printed cannot be written: %s\n",
           is_closed ? "standard output is closed" : strerror (print_failure));
  _exit (CLI_FAILED);
}

void
cli_process_begin (void)
{
  const struct sigaction ignored = { .sa_handler = SIG_IGN };

  open_streams ();
  sigaction (SIGXFSZ, &ignored, &before);
  watch_signals ();
  g_set_print_handler (cli_process_print); /* GOption's help */
  atexit (flush_stdout);
}

void
cli_process_print_to_stderr (void)
{
  fflush (stdout);
  printed_to = stderr;
}

void
cli_process_restore (void)
{
  sigaction (SIGXFSZ, &before, NULL);
}
