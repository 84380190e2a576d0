/*
 * Bytes of a file from front to back, gzip undone on the way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "recorder/import/private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define STORED_BYTES (64 * 1024)
/* Snapshots shrink to a fifteenth, tables to a tenth. */
#define MOST_INFLATED 200
#define FREE_INFLATED_BYTES ((uint64_t) 4 << 20)
#define REPORT_STEP 0.005 /* a report each half per cent: some 200 in all */

static void
stop (TesseraStream *stream, TesseraStatus status, const char *reason)
{
  stream->is_at_end = true;
  stream->status = status;
  g_strlcpy (stream->reason, reason, sizeof stream->reason);
}

/* Up to @n_bytes of the content; fewer at its end, and where it can't be read on. zlib
 * passes on what is no gzip, and joins the members of what is one. */
static size_t
read_content (TesseraStream *stream, uint8_t *to, size_t n_bytes)
{
  int got = gzread (stream->file, to, (unsigned) n_bytes), failure;
  const char *reason = gzerror (stream->file, &failure);
  size_t n = got > 0 ? (size_t) got : 0;

  import_need (failure != Z_MEM_ERROR);
  stream->is_gzip = !gzdirect (stream->file);
  stream->file_at = (uint64_t) MAX (gzoffset (stream->file), 0);
  stream->n_read += n;
  if (n < n_bytes)
    stream->is_at_end = true;
  if (n < n_bytes && failure == Z_BUF_ERROR)
    stop (stream, TESSERA_BAD_INPUT, "the gzip data is cut off");
  else if (n < n_bytes && failure < 0) /* zlib puts a name in front: <fd:5> */
    stop (stream, failure == Z_ERRNO ? TESSERA_IO : TESSERA_BAD_INPUT,
          strstr (reason, ": ") != NULL ? strstr (reason, ": ") + 2 : reason);
  else if (stream->is_gzip && stream->n_read / MOST_INFLATED >
                                  stream->file_at + FREE_INFLATED_BYTES / MOST_INFLATED)
    stop (stream, TESSERA_BAD_INPUT,
          "it unpacks to more than 200 times its size, as no snapshot or table does: "
          "open it unpacked if it is one");
  return n;
}

static void
report (TesseraStream *stream)
{
  double fraction;

  if (stream->file_bytes == 0)
    return;
  fraction = (double) stream->file_at / (double) stream->file_bytes;
  if (fraction < stream->reported + REPORT_STEP)
    return;
  stream->reported = fraction;
  if (!tessera_progress (stream->progress, fraction > 1 ? 1 : fraction))
    stop (stream, TESSERA_CANCELLED, "stopped as asked");
}

bool
tessera_stream_fill (TesseraStream *stream, size_t n_bytes)
{
  size_t left = (size_t) (stream->end - stream->at);

  if (stream->window == NULL || stream->is_at_end ||
      n_bytes > TESSERA_STREAM_WINDOW_BYTES)
    return left >= n_bytes;

  memmove (stream->window, stream->at, left);
  stream->base += (uint64_t) (stream->at - stream->from);
  stream->at = stream->window;
  left +=
      read_content (stream, stream->window + left, TESSERA_STREAM_WINDOW_BYTES - left);
  stream->end = stream->window + left;
  report (stream);
  return stream->status == TESSERA_OK && left >= n_bytes;
}

TesseraStatus
tessera_stream_cut (const TesseraStream *stream, TesseraError *error)
{
  uint64_t at = stream->base + (uint64_t) (stream->end - stream->from);

  if (stream->status == TESSERA_OK)
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s ends at byte %" PRIu64
                         " in the middle of its data: copy it again in full",
                         stream->name, at);
  if (stream->status == TESSERA_CANCELLED)
    return tessera_fail (error, TESSERA_CANCELLED, "reading %s was stopped as asked",
                         stream->name);
  return tessera_fail (error, stream->status,
                       "%s cannot be read past byte %" PRIu64 ": %s", stream->name, at,
                       stream->reason);
}

static TesseraStatus
open_file (TesseraStream *stream, const char *path, TesseraError *error)
{
  struct stat about;
  /* Opening a pipe must not wait for its writer. */
  int fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

  if (fd < 0 || fstat (fd, &about) < 0)
    {
      int why = errno;

      if (fd >= 0)
        close (fd);
      return tessera_fail (error, TESSERA_IO, "%s cannot be opened: %s", stream->name,
                           g_strerror (why));
    }
  stream->file = gzdopen (fd, "r");
  import_need (stream->file != NULL && gzbuffer (stream->file, STORED_BYTES) == 0);
  if (S_ISDIR (about.st_mode))
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a folder: choose one file in it", stream->name);
  if (!S_ISREG (about.st_mode))
    return tessera_fail (error, TESSERA_BAD_INPUT,
                         "%s is a device or pipe: write it into a file and open that",
                         stream->name);
  stream->file_bytes = about.st_size > 0 ? (uint64_t) about.st_size : 0;
  return TESSERA_OK;
}

/* Of a path that is too long its end, which says more: the sentence has to have room. */
static void
set_name (TesseraStream *stream, const char *path)
{
  static const char cut[] = "...";
  char *name = g_filename_display_name (path);
  size_t n = strlen (name);
  const char *from = name;

  if (n >= sizeof stream->name)
    {
      from += n - (sizeof stream->name - sizeof cut);
      while (((uint8_t) *from & 0xc0) == 0x80)
        from++;
    }
  snprintf (stream->name, sizeof stream->name, "%s%s", from > name ? cut : "", from);
  g_free (name);
}

TesseraStatus
tessera_stream_open (const char *path,
                     const TesseraProgress *progress,
                     TesseraError *error,
                     TesseraStream **out_stream)
{
  TesseraStream *stream = g_new0 (TesseraStream, 1);
  TesseraStatus status;

  *out_stream = NULL;
  stream->window = g_malloc (TESSERA_STREAM_WINDOW_BYTES);
  stream->progress = progress;
  stream->from = stream->at = stream->end = stream->window;
  set_name (stream, path);
  status = open_file (stream, path, error);
  if (status == TESSERA_OK && !tessera_stream_fill (stream, 1) &&
      stream->status != TESSERA_OK)
    status = tessera_stream_cut (stream, error);
  if (status != TESSERA_OK)
    {
      tessera_stream_close (stream);
      return status;
    }
  *out_stream = stream;
  return TESSERA_OK;
}

void
tessera_stream_close (TesseraStream *stream)
{
  if (stream == NULL)
    return;
  if (stream->file != NULL)
    gzclose_r (stream->file);
  g_free (stream->window);
  g_free (stream);
}
