/*
 * Sentences for a person, and the last error of each thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/process/notice.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "runtime/tessera.h"

enum
{
  MAX_NOTICES = 64
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char notices[MAX_NOTICES][TESSERA_ERROR_TEXT_BYTES]; /* all ever said */
static size_t n_notices, n_taken;

static __thread char last_error[TESSERA_ERROR_TEXT_BYTES];

void
tessera_notice (const char *format, ...)
{
  char text[TESSERA_ERROR_TEXT_BYTES];
  va_list arguments;
  size_t i = 0;

  va_start (arguments, format);
  vsnprintf (text, sizeof text, format, arguments);
  va_end (arguments);
  pthread_mutex_lock (&lock);
  while (i < n_notices && strcmp (notices[i], text) != 0)
    i++;
  if (i == n_notices && n_notices < MAX_NOTICES)
    strcpy (notices[n_notices++], text);
  pthread_mutex_unlock (&lock);
}

size_t
tessera_take_notice (char *out_text, size_t n_bytes)
{
  size_t length = 0;

  if (n_bytes == 0)
    return 0;
  out_text[0] = '\0';
  pthread_mutex_lock (&lock);
  if (n_taken < n_notices)
    {
      snprintf (out_text, n_bytes, "%s", notices[n_taken++]);
      length = strlen (out_text);
    }
  pthread_mutex_unlock (&lock);
  return length;
}

void
tessera_notice_after_fork (void)
{
  pthread_mutex_init (&lock, NULL);
}

int
tessera_set_last_error (const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  vsnprintf (last_error, sizeof last_error, format, arguments);
  va_end (arguments);
  return -1;
}

const char *
tessera_last_error (void)
{
  return last_error;
}
