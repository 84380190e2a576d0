/*
 * How every layer says that something went wrong.
 *
 * A call that can fail returns a TesseraStatus and, where a person will read of it, fills
 * a TesseraError with one sentence: which file, where in it, what was found, what to do.
 * Nothing here allocates, prints or aborts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TESSERA_MUST_USE __attribute__ ((warn_unused_result))
#define TESSERA_PRINTF(format_at, first_at)                                              \
  __attribute__ ((format (printf, format_at, first_at)))

typedef enum
{
  TESSERA_OK = 0,
  TESSERA_NO_MEMORY,     /* the host has no memory left */
  TESSERA_IO,            /* the operating system refused to read or write */
  TESSERA_BAD_INPUT,     /* the file is damaged, of another version, or says
                            something impossible */
  TESSERA_FOREIGN,       /* the file belongs to another program */
  TESSERA_CANCELLED,     /* the person said stop */
  TESSERA_OUT_OF_DEVICE, /* the device has no memory left: a result, not a fault */
  TESSERA_INVALID,       /* the arguments make no sense together */
  TESSERA_REFUSED        /* understood, and declined for a stated reason */
} TesseraStatus;

#define TESSERA_ERROR_TEXT_BYTES 640

typedef struct
{
  TesseraStatus status;
  char text[TESSERA_ERROR_TEXT_BYTES]; /* one sentence, no newline, UTF-8, never empty
                                          when status is not TESSERA_OK */
} TesseraError;

/*
 * tessera_fail:
 * @error: (nullable): where the sentence goes; an earlier sentence is kept (the first
 *   finding is nearest to the cause)
 *
 * Returns: @status, so that a caller can write `return tessera_fail (...)`.
 */
TesseraStatus
tessera_fail (TesseraError *error, TesseraStatus status, const char *format, ...)
    TESSERA_PRINTF (3, 4);

/* Names and paths that came from anywhere are shown as one line of UTF-8 that can harm no
 * terminal: control characters, marks that turn the direction of text and letters that
 * cannot be seen as \u001b, bytes that are no UTF-8 as \xff. */
#define TESSERA_SHOWN_BYTES 8
/* The first letter of @text, which is not empty, into @shown (TESSERA_SHOWN_BYTES).
 * Returns: its bytes in @text. */
size_t tessera_show_letter (const char *text, char *shown);
/* As much of @text as @out_shown has room for. Returns: @out_shown. */
char *tessera_show_text (const char *text, char *out_shown, size_t n_shown);

/* Long work reports through this and stops when told to.  @report may be NULL. It is
 * called from the thread that does the work, at most some hundred times in all. */
typedef struct
{
  bool (*report) (void *user, double fraction); /* 0..1; returns false: stop */
  void *user;
} TesseraProgress;

/* Returns: false when the work is to stop. @progress may be NULL. */
bool tessera_progress (const TesseraProgress *progress, double fraction);
