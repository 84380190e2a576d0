/*
 * For tests: pickles and whole snapshots, made opcode by opcode.
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

#define MIB ((uint64_t) 1 << 20)
#define BASE UINT64_C (0x7f0000000000)

static inline void
put_frame (GByteArray *to, const char *name, int line)
{
  open_dict (to);
  put_key_text (to, "name", name);
  put_key_text (to, "filename", "train.py");
  put_key_u64 (to, "line", (uint64_t) line);
  close_dict (to);
}

static inline void
put_annotation_of (GByteArray *to,
                   uint64_t device,
                   const char *stage,
                   const char *name,
                   uint64_t time_us)
{
  open_dict (to);
  put_key_text (to, "stage", stage);
  put_key_text (to, "name", name);
  put_key_u64 (to, "device", device);
  put_key_u64 (to, "time_us", time_us);
  close_dict (to);
}

static inline void
put_annotation (GByteArray *to, const char *stage, const char *name, uint64_t time_us)
{
  put_annotation_of (to, 0, stage, name, time_us);
}

static inline void
put_whole_segments (GByteArray *to)
{
  put_text (to, "segments");
  open_list (to);
  open_segment (to, 0, BASE, 20 * MIB, "large", FALSE);
  put_block (to, BASE, 4 * MIB, 4 * MIB, "active_allocated");
  put_block (to, BASE + 4 * MIB, 16 * MIB, 0, "inactive");
  close_segment (to);
  close_list (to);
}

static inline void
put_whole_traces (GByteArray *to)
{
  put_text (to, "device_traces");
  open_list (to);
  open_list (to);
  open_dict (to);
  put_key_text (to, "action", "segment_alloc");
  put_key_u64 (to, "addr", BASE);
  put_key_u64 (to, "size", 20 * MIB);
  put_key_u64 (to, "stream", 0);
  put_key_u64 (to, "time_us", 1000000);
  put_text (to, "frames");
  put_op (to, ']');
  put_op (to, 0x94); /* memo 0: the list */
  put_op (to, '(');
  put_frame (to, "layer", 3);
  put_frame (to, "main", 9);
  close_list (to);
  close_dict (to);
  open_dict (to);
  put_key_text (to, "action", "alloc");
  put_key_u64 (to, "addr", BASE);
  put_key_u64 (to, "size", 4 * MIB);
  put_key_u64 (to, "stream", 0);
  put_key_u64 (to, "time_us", 1000000);
  put_text (to, "frames");
  put_bytes (to, "h\x00", 2);
  close_dict (to);
  put_entry (to, "alloc", BASE + 4 * MIB, 2 * MIB, 77, 1000010);
  put_entry (to, "free_requested", BASE + 4 * MIB, 2 * MIB, 77, 1000020);
  put_entry (to, "free_completed", BASE + 4 * MIB, 2 * MIB, 77, 1000020);
  put_entry (to, "oom", 12345, 64 * MIB, 0, 1000030);
  put_entry (to, "teleport", 1, 2, 0, 1000031);
  put_entry (to, "annotate", BASE, 4 * MIB, 0, 1000032);
  close_list (to);
  close_list (to);
}

static inline void
put_whole_settings (GByteArray *to)
{
  put_text (to, "allocator_settings");
  open_dict (to);
  put_key_text (
      to, "PYTORCH_CUDA_ALLOC_CONF",
      "max_split_size_mb:64,max_non_split_rounding_mb: 32,large_segment_size_mb:40");
  put_key_u64 (to, "max_split_size", 64 * MIB);
  put_text (to, "garbage_collection_threshold");
  put_bytes (to, "G\x3f\xe8\x00\x00\x00\x00\x00\x00", 9);
  put_text (to, "expandable_segments");
  put_op (to, 0x88);
  put_text (to, "roundup_power2_divisions");
  open_dict (to);
  put_key_u64 (to, "1", 8);
  put_key_u64 (to, "4", 2);
  put_key_u64 (to, "32768", 16);
  close_dict (to);
  close_dict (to);
}

static inline void
put_whole_annotations (GByteArray *to)
{
  put_text (to, "external_annotations");
  open_list (to);
  put_annotation (to, "END", "before", 1000005);
  put_annotation (to, "START", "step 3", 1000010);
  put_annotation (to, "START", "forward", 1000010);
  put_annotation (to, "END", "forward", 1000020);
  put_annotation (to, "START", "backward", 1000020);
  put_annotation (to, "END", "backward", 1000030);
  put_annotation (to, "END", "step 3", 1000030);
  put_annotation (to, "START", "ProfilerStep#12", 1000031);
  close_list (to);
}

static inline void
put_whole_host (GByteArray *to)
{
  put_text (to, "host_traces");
  open_list (to);
  put_entry (to, "alloc", 64, 64, 0, 5);
  close_list (to);
  put_text (to, "host_segments");
  open_list (to);
  put_text (to, "anything");
  put_text (to, "at all");
  close_list (to);
}

/* Like 2.6: settings, annotations, a stack shared by the entries of a call. */
static inline GByteArray *
whole_snapshot (void)
{
  GByteArray *to = pickle_new (4);

  open_dict (to);
  put_whole_segments (to);
  put_whole_traces (to);
  put_whole_settings (to);
  put_whole_annotations (to);
  put_whole_host (to);
  close_dict (to);
  return to;
}

/* Three devices: 0 with a segment only, 1 with two entries, 3 with one. */
static inline GByteArray *
devices_snapshot (void)
{
  GByteArray *to = pickle_new (4);

  open_dict (to);
  put_text (to, "device_traces"); /* before segments */
  open_list (to);
  put_op (to, ']');
  open_list (to);
  put_entry (to, "alloc", BASE, 512, 5, 1000);
  put_entry (to, "alloc", BASE + 512, 512, 6, 1001);
  close_list (to);
  put_op (to, ']');
  open_list (to);
  put_entry (to, "free_requested", BASE, 512, 6, 900);
  close_list (to);
  close_list (to);
  put_text (to, "segments");
  open_list (to);
  open_segment (to, 0, BASE, 2 * MIB, "small", FALSE);
  put_block (to, BASE, 2 * MIB, 1, "inactive");
  close_segment (to);
  open_segment (to, 1, BASE, 2 * MIB, "small", FALSE);
  put_block (to, BASE, 512, 512, "active_allocated");
  put_block (to, BASE + 512, 512, 512, "active_allocated");
  put_block (to, BASE + 1024, 2 * MIB - 1024, 1, "inactive");
  close_segment (to);
  open_segment (to, 3, BASE, 2 * MIB, "small", FALSE);
  put_block (to, BASE, 512, 512, "active_pending_free");
  put_block (to, BASE + 512, 2 * MIB - 512, 1, "inactive");
  close_segment (to);
  close_list (to);
  close_dict (to);
  put_op (to, '.');
  return to;
}
