/*
 * A race detector with vector clocks: which uses of memory are ordered, however long
 * anything takes.
 *
 * What a stream is given (work, and waits) is numbered; that is the stream's counter. A
 * clock says up to which number of each stream all is done. Each use of memory has the
 * clock of what is done before it begins: by the stream's order, by the events that it
 * waits for, by what the host knew to be done. A host thread knows up to which number
 * each stream was given work: that is what its events and marks cover, since what another
 * thread enqueues at the same time may come before them or after. It learns so from other
 * threads that hand over to it, and from the allocator's lock.
 *
 * Uses are followed, not owners. Blocks have generations, in the order in which they were
 * handed out. Found are:
 *   - races: uses of the same bytes by two blocks of which neither is ordered behind the
 *     other. The uses of one block among themselves are the program's business;
 *   - a use of bytes behind one by a later block, or of memory that went since;
 *   - memory that goes while a use of it is not known to be done.
 *
 * It shares nothing with what it judges: no moments, no owners, no barriers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

enum
{
  CLOCKS_STREAMS = 4,
  CLOCKS_THREADS = 3
};

/* All up to so many works of each stream is done. */
typedef struct
{
  uint32_t at[CLOCKS_STREAMS];
} Clock;

typedef struct
{
  Clock enqueued; /* that it knows of */
  Clock done;     /* ... to be done */
} ClocksHost;

typedef enum
{
  CLOCKS_RACE,
  CLOCKS_OVERTAKEN,
  CLOCKS_UNMAPPED, /* under a use */
  CLOCKS_N_HARMS
} ClocksHarm;

typedef struct
{
  guint n_harms[CLOCKS_N_HARMS];
  char first[256]; /* the first of them in words */

  /* Private. */
  GArray *streams[CLOCKS_STREAMS]; /* Clock: what is done before what comes next, at the
                                      beginning and after each work */
  guint last_thread[CLOCKS_STREAMS];
  ClocksHost threads[CLOCKS_THREADS], lock;
  GArray *spans; /* of addresses, all of them, ascending */
  uint32_t n_generations;
} Clocks;

void clocks_init (Clocks *clocks);
void clocks_clear (Clocks *clocks);
guint clocks_count_harms (const Clocks *clocks);

/* ---- Streams ---- */

/* Another block is handed out. Returns: its generation, from 1 on. */
uint32_t clocks_add_generation (Clocks *clocks);
/* Work on a block. Here and below a thread works only on streams of which it knows the
 * last work: else the program ends, since the order would be anybody's guess. */
void clocks_use (Clocks *clocks,
                 guint thread,
                 guint stream,
                 uint64_t addr,
                 uint64_t size_bytes,
                 uint32_t generation);
/* An event on the stream, of what the thread knows that it was given. */
Clock clocks_record (const Clocks *clocks, guint thread, guint stream);
/* ... of all streams. */
Clock clocks_mark (const Clocks *clocks, guint thread);
void clocks_wait (Clocks *clocks, guint thread, guint stream, const Clock *event);
/* Of the last use of the byte; 0: none since its memory came. */
uint32_t clocks_generation_at (const Clocks *clocks, uint64_t addr);

void clock_join (Clock *clock, const Clock *with);

/* ---- Hosts ---- */

/* The thread waits for the event, or saw that it is done. */
void clocks_synchronize (Clocks *clocks, guint thread, const Clock *event);
/* @to goes on where @from is now. */
void clocks_hand_over (Clocks *clocks, guint from, guint to);
/* From whoever worked on the stream last, if need be. */
void clocks_know (Clocks *clocks, guint thread, guint stream);
/* The allocator's lock, taken and left. */
void clocks_lock (Clocks *clocks, guint thread);
void clocks_unlock (Clocks *clocks, guint thread);
/* Memory goes; whatever comes there later is other memory. */
void clocks_unmap (Clocks *clocks, guint thread, uint64_t addr, uint64_t size_bytes);
