/*
 * Bytes of a file from front to back, gzip undone on the way.
 *
 * Holds one window of the content, never the file: what a reader keeps decides how much
 * memory an import takes. Positions are those of the content, after decompression.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "db/status.h"

#define TESSERA_STREAM_WINDOW_BYTES ((size_t) 256 * 1024)

/* Readers take bytes at @at and move it; everything else is the stream's own. */
typedef struct
{
  const uint8_t *at;
  const uint8_t *end;  /* of what is in the window */
  uint64_t base;       /* position of the window's first byte */
  uint8_t *window;     /* NULL: the content is memory of somebody else */
  const uint8_t *from; /* the window's first byte */
  bool is_gzip;
  bool is_at_end;       /* nothing follows the window */
  TesseraStatus status; /* why it ended, when not at the end of the content */
  char reason[160];     /* in words: the operating system's, or zlib's */
  char name[300];       /* for sentences: the path as given, valid UTF-8 */
  uint64_t file_bytes;  /* as stored; 0 when not known (a pipe) */
  uint64_t file_at;     /* read so far, as stored */
  uint64_t n_inflated;  /* bytes of content, of a gzip */
  const TesseraProgress *progress;
  double reported;
  struct TesseraStreamInside *inside;
} TesseraStream;

/* The file is open, sniffed and its first window filled. A directory, a missing file and
 * one without permission each give their own sentence. @progress may be NULL and must
 * live as long as the stream. */
TESSERA_MUST_USE TesseraStatus tessera_stream_open (const char *path,
                                                    const TesseraProgress *progress,
                                                    TesseraError *error,
                                                    TesseraStream **out_stream);

/* A stream over memory that must outlive it; never gzip. For tests and fuzzing. */
TESSERA_MUST_USE TesseraStatus tessera_stream_open_memory (const void *bytes,
                                                           size_t n_bytes,
                                                           TesseraStream **out_stream);
void tessera_stream_close (TesseraStream *stream); /* NULL is fine */

/*
 * tessera_stream_fill:
 * @n_bytes: at most TESSERA_STREAM_WINDOW_BYTES
 *
 * Returns: true when so many bytes lie at @at in one piece. False at the end of the
 * content (what is left still lies there), on a read error and when told to stop; @status
 * parts these.
 */
bool tessera_stream_fill (TesseraStream *stream, size_t n_bytes);

static inline bool
tessera_stream_has (TesseraStream *stream, size_t n_bytes)
{
  return (size_t) (stream->end - stream->at) >= n_bytes ||
         tessera_stream_fill (stream, n_bytes);
}

static inline uint64_t
tessera_stream_position (const TesseraStream *stream)
{
  return stream->base + (uint64_t) (stream->at - stream->from);
}

/* The sentence for a stream that ended too early: cut off, unreadable or cancelled. */
TesseraStatus tessera_stream_cut (const TesseraStream *stream, TesseraError *error);
