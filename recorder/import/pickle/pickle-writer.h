/*
 * For tests: writes pickles, opcode by opcode.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdint.h>
#include <string.h>

static inline void
put_bytes (GByteArray *to, const void *bytes, size_t n_bytes)
{
  g_byte_array_append (to, bytes, (guint) n_bytes);
}

static inline void
put_op (GByteArray *to, int opcode)
{
  uint8_t byte = (uint8_t) opcode;

  put_bytes (to, &byte, 1);
}

static inline void
put_number (GByteArray *to, uint64_t number, size_t n_bytes)
{
  for (size_t i = 0; i < n_bytes; i++)
    put_op (to, (int) (number >> (8 * i) & 0xff));
}

static inline GByteArray *
pickle_new (int protocol)
{
  GByteArray *to = g_byte_array_new ();

  put_op (to, 0x80);
  put_op (to, protocol);
  return to;
}

static inline void
put_text (GByteArray *to, const char *text)
{
  put_op (to, 'X');
  put_number (to, strlen (text), 4);
  put_bytes (to, text, strlen (text));
}

/* LONG1 of 9 bytes: any number from 0 to 2^64 - 1. */
static inline void
put_u64 (GByteArray *to, uint64_t number)
{
  put_op (to, 0x8a);
  put_op (to, 9);
  put_number (to, number, 8);
  put_op (to, 0);
}

static inline void
put_key_u64 (GByteArray *to, const char *key, uint64_t number)
{
  put_text (to, key);
  put_u64 (to, number);
}

static inline void
put_key_text (GByteArray *to, const char *key, const char *text)
{
  put_text (to, key);
  put_text (to, text);
}

/* EMPTY_DICT MARK ... SETITEMS, EMPTY_LIST MARK ... APPENDS */
static inline void
open_dict (GByteArray *to)
{
  put_bytes (to, "}(", 2);
}

static inline void
close_dict (GByteArray *to)
{
  put_op (to, 'u');
}

static inline void
open_list (GByteArray *to)
{
  put_bytes (to, "](", 2);
}

static inline void
close_list (GByteArray *to)
{
  put_op (to, 'e');
}

/* A trace entry without frames; @time_us 0: without time. */
static inline void
put_entry (GByteArray *to,
           const char *action,
           uint64_t addr,
           uint64_t size_bytes,
           uint64_t stream,
           uint64_t time_us)
{
  open_dict (to);
  put_key_text (to, "action", action);
  put_key_u64 (to, strcmp (action, "oom") == 0 ? "device_free" : "addr", addr);
  put_key_u64 (to, "size", size_bytes);
  put_key_u64 (to, "stream", stream);
  if (time_us != 0)
    put_key_u64 (to, "time_us", time_us);
  close_dict (to);
}

/* Opens a segment and its list of blocks. */
static inline void
open_segment (GByteArray *to,
              uint64_t device,
              uint64_t addr,
              uint64_t size_bytes,
              const char *type,
              gboolean is_expandable)
{
  open_dict (to);
  put_key_u64 (to, "device", device);
  put_key_u64 (to, "address", addr);
  put_key_u64 (to, "total_size", size_bytes);
  put_key_u64 (to, "stream", 0);
  put_key_text (to, "segment_type", type);
  put_text (to, "is_expandable");
  put_op (to, is_expandable ? 0x88 : 0x89);
  put_text (to, "blocks");
  open_list (to);
}

static inline void
close_segment (GByteArray *to)
{
  close_list (to);
  close_dict (to);
}

/* @addr 0: without address, as 2.0 writes it. */
static inline void
put_block (GByteArray *to,
           uint64_t addr,
           uint64_t size_bytes,
           uint64_t requested_bytes,
           const char *state)
{
  open_dict (to);
  if (addr != 0)
    put_key_u64 (to, "address", addr);
  put_key_u64 (to, "size", size_bytes);
  put_key_u64 (to, "requested_size", requested_bytes);
  put_key_text (to, "state", state);
  close_dict (to);
}
