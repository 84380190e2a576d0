/*
 * For tests: pickles and whole snapshots, from Python's own notation.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
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

#define MIB ((uint64_t) 1 << 20)
#define BASE UINT64_C (0x7f0000000000)

/* Bytes of a pickle that stand for each $ of a text, in turn. */
typedef struct
{
  const char *bytes;
  size_t n_bytes;
} Raw;

/* LONG1 of 9 bytes: any number from 0 to 2^64 - 1. A sum such as B+4M: B is BASE, M MIB. */
static inline const char *
put_sum (GByteArray *to, const char *at)
{
  uint64_t sum = 0;

  do
    {
      char *end = (char *) at + 1;
      uint64_t number = *at == 'B' ? BASE : g_ascii_strtoull (at, &end, 10);

      if (*end == 'M')
        {
          number *= MIB;
          end++;
        }
      sum += number;
      at = end;
    }
  while (*at++ == '+');
  put_op (to, 0x8a);
  put_op (to, 9);
  put_number (to, sum, 8);
  put_op (to, 0);
  return at - 1;
}

/* One value: a dict, a list (with & in front it is remembered as the first thing, which * is
 * then), a text in single quotes, True, False, a sum, or $. Returns: what follows it. */
static inline const char *
put_value (GByteArray *to, const char *at, const Raw **raw)
{
  bool is_kept = *at == '&';
  const char *end;

  at += is_kept;
  switch (*at)
    {
    case '{':
    case '[':
      put_op (to, *at == '{' ? '}' : ']');
      if (is_kept)
        put_op (to, 0x94);
      put_op (to, '(');
      for (at++; at += strspn (at, " ,:\n"), *at != '}' && *at != ']';)
        at = put_value (to, at, raw);
      put_op (to, *at == '}' ? 'u' : 'e');
      return at + 1;
    case '\'':
      end = strchr (at + 1, '\'');
      put_op (to, 'X');
      put_number (to, (uint64_t) (end - at - 1), 4);
      put_bytes (to, at + 1, (size_t) (end - at - 1));
      return end + 1;
    case 'T':
    case 'F':
      put_op (to, *at == 'T' ? 0x88 : 0x89);
      return at + (*at == 'T' ? 4 : 5);
    case '*':
      put_bytes (to, "h\x00", 2);
      return at + 1;
    case '$':
      put_bytes (to, (*raw)->bytes, (*raw)->n_bytes);
      ++*raw;
      return at + 1;
    default:
      return put_sum (to, at);
    }
}

/* A pickle of @text, whole but for its end. @raw: as many as it has $ */
static inline GByteArray *
pickle_of (const char *text, const Raw *raw)
{
  GByteArray *to = pickle_new (4);

  put_value (to, text, &raw);
  return to;
}

/* An entry without frames; a segment of device 0; a frame. */
#define ENTRY(action, addr, size, stream, time_us)                                       \
  "{'action': '" action "', 'addr': " addr ", 'size': " size ", 'stream': " stream       \
  ", 'time_us': " time_us "}, "
#define SEGMENT(device, size, type, blocks)                                              \
  "{'device': " device ", 'address': B, 'total_size': " size                             \
  ", 'stream': 0, 'segment_type': '" type                                                \
  "', 'is_expandable': False, 'blocks': [" blocks "]}, "
#define BLOCK(addr, size, asked, state)                                                  \
  "{'address': " addr ", 'size': " size ", 'requested_size': " asked                     \
  ", 'state': '" state "'}, "
#define FRAME(name, line)                                                                \
  "{'name': '" name "', 'filename': 'train.py', 'line': " line "}, "
#define MARK_OF(device, stage, name, time_us)                                            \
  "{'stage': '" stage "', 'name': '" name "', 'device': " device ", 'time_us': " time_us \
  "}, "
#define MARK(stage, name, time_us) MARK_OF ("0", stage, name, time_us)

/* Like 2.6: settings, annotations, a stack shared by the entries of a call. */
static inline GByteArray *
whole_snapshot (void)
{
  static const Raw threshold = { "G\x3f\xe8\x00\x00\x00\x00\x00\x00", 9 }; /* 0.75 */

  return pickle_of (
      "{'segments': ["
      "{'device': 0, 'address': B, 'total_size': 20M, 'stream': 0,"
      " 'segment_type': 'large', 'is_expandable': False, 'blocks': ["
      "{'address': B, 'size': 4M, 'requested_size': 4M, 'state': 'active_allocated'},"
      "{'address': B+4M, 'size': 16M, 'requested_size': 0, 'state': 'inactive'}]}],"
      "'device_traces': [["
      "{'action': 'segment_alloc', 'addr': B, 'size': 20M, 'stream': 0,"
      " 'time_us': 1000000, 'frames': &["
      "{'name': 'layer', 'filename': 'train.py', 'line': 3},"
      "{'name': 'main', 'filename': 'train.py', 'line': 9}]},"
      "{'action': 'alloc', 'addr': B, 'size': 4M, 'stream': 0, 'time_us': 1000000,"
      " 'frames': *},"
      "{'action': 'alloc', 'addr': B+4M, 'size': 2M, 'stream': 77, 'time_us': 1000010},"
      "{'action': 'free_requested', 'addr': B+4M, 'size': 2M, 'stream': 77, 'time_us': "
      "1000020},"
      "{'action': 'free_completed', 'addr': B+4M, 'size': 2M, 'stream': 77, 'time_us': "
      "1000020},"
      "{'action': 'oom', 'device_free': 12345, 'size': 64M, 'stream': 0, 'time_us': "
      "1000030},"
      "{'action': 'teleport', 'addr': 1, 'size': 2, 'stream': 0, 'time_us': 1000031},"
      "{'action': 'annotate', 'addr': B, 'size': 4M, 'stream': 0, 'time_us': 1000032}]],"
      "'allocator_settings': {'PYTORCH_CUDA_ALLOC_CONF': 'max_split_size_mb:64,"
      "max_non_split_rounding_mb: 32,large_segment_size_mb:40', 'max_split_size': 64M,"
      "'garbage_collection_threshold': $, 'expandable_segments': True,"
      "'roundup_power2_divisions': {'1': 8, '4': 2, '32768': 16}},"
      "'external_annotations': ["
      "{'stage': 'END', 'name': 'before', 'device': 0, 'time_us': 1000005},"
      "{'stage': 'START', 'name': 'step 3', 'device': 0, 'time_us': 1000010},"
      "{'stage': 'START', 'name': 'forward', 'device': 0, 'time_us': 1000010},"
      "{'stage': 'END', 'name': 'forward', 'device': 0, 'time_us': 1000020},"
      "{'stage': 'START', 'name': 'backward', 'device': 0, 'time_us': 1000020},"
      "{'stage': 'END', 'name': 'backward', 'device': 0, 'time_us': 1000030},"
      "{'stage': 'END', 'name': 'step 3', 'device': 0, 'time_us': 1000030},"
      "{'stage': 'START', 'name': 'ProfilerStep#12', 'device': 0, 'time_us': 1000031}],"
      "'host_traces': [{'action': 'alloc', 'addr': 64, 'size': 64, 'stream': 0, "
      "'time_us': 5}],"
      "'host_segments': ['anything', 'at all']}",
      &threshold);
}

/* Three devices: 0 with a segment only, 1 with two entries, 3 with one. */
static inline GByteArray *
devices_snapshot (void)
{
  GByteArray *to = pickle_of (
      "{'device_traces': [[], ["
      "{'action': 'alloc', 'addr': B, 'size': 512, 'stream': 5, 'time_us': 1000},"
      "{'action': 'alloc', 'addr': B+512, 'size': 512, 'stream': 6, 'time_us': 1001}], "
      "[], ["
      "{'action': 'free_requested', 'addr': B, 'size': 512, 'stream': 6, 'time_us': "
      "900}]],"
      "'segments': ["
      "{'device': 0, 'address': B, 'total_size': 2M, 'stream': 0,"
      " 'segment_type': 'small', 'is_expandable': False, 'blocks': ["
      "{'address': B, 'size': 2M, 'requested_size': 1, 'state': 'inactive'}]},"
      "{'device': 1, 'address': B, 'total_size': 2M, 'stream': 0,"
      " 'segment_type': 'small', 'is_expandable': False, 'blocks': ["
      "{'address': B, 'size': 512, 'requested_size': 512, 'state': 'active_allocated'},"
      "{'address': B+512, 'size': 512, 'requested_size': 512, 'state': "
      "'active_allocated'},"
      "{'address': B+1024, 'size': 2096128, 'requested_size': 1, 'state': 'inactive'}]},"
      "{'device': 3, 'address': B, 'total_size': 2M, 'stream': 0,"
      " 'segment_type': 'small', 'is_expandable': False, 'blocks': ["
      "{'address': B, 'size': 512, 'requested_size': 512, 'state': "
      "'active_pending_free'},"
      "{'address': B+512, 'size': 2096640, 'requested_size': 1, 'state': "
      "'inactive'}]}]}",
      NULL);

  put_op (to, '.');
  return to;
}
