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

static struct
{
  int to; /* descriptor */
  bool is_closed, is_data;
  int failure;      /* errno of the first write that failed; 0: none did */
  GString *pending; /* the begin of a letter whose end comes with the next write */
} printed = { .to = STDOUT_FILENO };

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
  if (asks == CLI_ASK_ON_ALL || (asks == CLI_ASK_ON_INTERRUPT && number == SIGINT))
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

  printed.is_closed = fcntl (STDOUT_FILENO, F_GETFD) < 0;
  opened = open ("/dev/null", O_RDWR);
  while (opened >= 0 && opened <= STDERR_FILENO)
    opened = open ("/dev/null", O_RDWR);
  if (opened >= 0)
    close (opened);
}

static bool
write_all (const char *text, size_t n_bytes)
{
  while (n_bytes > 0 && printed.failure == 0)
    {
      ssize_t n = printed.is_closed ? -1 : write (printed.to, text, n_bytes);

      if (n < 0 && !printed.is_closed && errno == EINTR)
        continue;
      if (n < 0)
        printed.failure = printed.is_closed ? EBADF : errno;
      else
        {
          text += n;
          n_bytes -= (size_t) n;
        }
    }
  return printed.failure == 0;
}

/* Whether @n_left bytes may be the begin of a longer letter. */
static bool
is_cut (const char *text, size_t n_left)
{
  unsigned char first = (unsigned char) *text;

  return n_left < (first >= 0xf0 ? 4u : first >= 0xe0 ? 3u : first >= 0xc2 ? 2u : 1u);
}

/* What is printed is read on terminals, and holds names that came from anywhere. */
static ssize_t
print_shown (void *cookie, const char *text, size_t n_text)
{
  g_autoptr (GString) shown = NULL;
  GString *pending = printed.pending;
  size_t at = 0;

  if (printed.is_data)
    return write_all (text, n_text) ? (ssize_t) n_text : 0;
  shown = g_string_sized_new (n_text);
  g_string_append_len (pending, text, (gssize) n_text);
  while (at < pending->len && !is_cut (pending->str + at, pending->len - at))
    {
      char letter[TESSERA_SHOWN_BYTES];

      if (pending->str[at] == '\n')
        g_string_append_c (shown, pending->str[at++]);
      else
        {
          at += tessera_show_letter (pending->str + at, letter);
          g_string_append (shown, letter);
        }
    }
  g_string_erase (pending, 0, (gssize) at);
  return write_all (shown->str, shown->len) ? (ssize_t) n_text : 0;
}

static void
flush_stdout (void)
{
  fflush (stdout);
  write_all (printed.pending->str, printed.pending->len);
  g_string_free (printed.pending, TRUE);
  if (printed.failure == 0)
    return;
  fprintf (stderr, "tessera: what was to be printed cannot be written: %s\n",
           printed.is_closed ? "standard output is closed" : strerror (printed.failure));
  _exit (CLI_FAILED);
}

void
cli_process_begin (void)
{
  const struct sigaction ignored = { .sa_handler = SIG_IGN };
  FILE *shown;

  open_streams ();
  sigaction (SIGXFSZ, &ignored, &before);
  watch_signals ();
  printed.pending = g_string_new (NULL);
  shown = fopencookie (NULL, "w", (cookie_io_functions_t){ .write = print_shown });
  if (shown != NULL)
    {
      setvbuf (shown, NULL, isatty (STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
      stdout = shown;
    }
  atexit (flush_stdout);
}

void
cli_process_print_data (const char *data, size_t n_bytes)
{
  fflush (stdout);
  printed.is_data = true;
  fwrite (data, 1, n_bytes, stdout); /* judged at the very end */
  fflush (stdout);
  printed.is_data = false;
}

void
cli_process_print_to_stderr (void)
{
  fflush (stdout);
  printed.to = STDERR_FILENO;
}

void
cli_process_restore (void)
{
  sigaction (SIGXFSZ, &before, NULL);
}
