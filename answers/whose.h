/*
 * Whose memory is it: what is live at one moment, by category, module, line, stack, phase or
 * step. The rows of each sum to the bytes that are live, to the byte.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "answers/categories.h"
#include "simulator/layout.h"

typedef enum
{
  TESSERA_BY_CATEGORY,
  TESSERA_BY_MODULE, /* a tree; modules that hold the same are one row: "layers.0-31" */
  TESSERA_BY_LINE,   /* of the program or of a model's library */
  TESSERA_BY_STACK,
  TESSERA_BY_PHASE,
  TESSERA_BY_STEP,
  TESSERA_BY_USE, /* line and category: "train.py:214 loss_of, activation" */
  TESSERA_N_BYS
} TesseraBy;

/* "category" ... */
const char *tessera_by_name (TesseraBy by);

/* Blocks, and what is known of them. */
typedef struct
{
  const TesseraTrace *trace; /* borrowed, with the next three */
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraLayout *layout; /* what is live: nothing else is asked of it */
  uint8_t *categories;         /* [n_blocks], see tessera_categorize() */
  TesseraOrigins origins;
  uint32_t *tensors; /* (nullable) [n_blocks], see tessera_find_tensors() */
} TesseraWhose;

/* Finds the last three, by the rules of @text (nullable: those that the trace carries),
 * which is of a file called @name, and the built-in ones. */
TESSERA_MUST_USE TesseraStatus tessera_whose_find (TesseraWhose *whose,
                                                   const char *text,
                                                   const char *name,
                                                   TesseraError *error);
/* Frees what was found. */
void tessera_whose_clear (TesseraWhose *whose);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC (TesseraWhose, tessera_whose_clear)

typedef struct
{
  char *name;     /* of a module: without what the rows above say; owned */
  uint64_t bytes; /* as asked for; of a module with all that is inside it */
  uint64_t n_blocks;
  uint32_t depth;   /* of a module: below the nearest row before it of a smaller depth */
  uint32_t n_times; /* so many modules, each of which holds as much */
  uint32_t stack;   /* of the row's largest block, or TESSERA_NONE */
  uint64_t largest_bytes; /* that block's */
} TesseraOwner;

/* What is live at @event_index: TesseraOwner, largest first (modules as a tree, largest first
 * inside each). g_array_unref(). Linear in blocks, and n log n in rows. */
GArray *tessera_whose (const TesseraWhose *whose, TesseraBy by, uint32_t event_index);

/* The same, but each module in one row by its whole path, largest first. @only: (nullable):
 * blocks of this category. */
GArray *tessera_owners (const TesseraWhose *whose,
                        TesseraBy by,
                        const TesseraCategory *only,
                        uint32_t event_index);

/* What is live after the event; 0: there is no such event. */
uint64_t tessera_live_bytes (const TesseraLayout *layout, uint32_t event_index);

/* The fullest moment of [begin_index, end_index): the first event after which most is live. */
uint32_t
tessera_fullest (const TesseraLayout *layout, uint32_t begin_index, uint32_t end_index);

#define TESSERA_OUTSIDE_OF_PHASES "(outside of phases)"

typedef struct
{
  const char *name;        /* of phases called alike; of the trace, or static */
  uint64_t live_bytes;     /* at the fullest event in any of them ... */
  uint32_t event_index;    /* ... which is this */
  uint64_t reserved_bytes; /* at most in any of them */
  uint32_t first_index;    /* where the first begins; TESSERA_NONE: outside of phases */
} TesseraPhasePeak;

/* The peak of each kind of phase: TesseraPhasePeak, in the order in which they first come.
 * What is nested in a part of a step counts as that part. g_array_unref(). Linear in events. */
GArray *tessera_phase_peaks (const TesseraWhose *whose);

/* The highest sum of changes[0] ... changes[i], of @n_events; *out_at (nullable): the first i that
 * has it, TESSERA_NONE where it is 0. */
uint64_t
tessera_highest_sum (const int64_t *changes, uint32_t n_events, uint32_t *out_at);

/* The name of one block under @by, g_free(); of a module the whole path. */
char *tessera_owner_of (const TesseraWhose *whose, TesseraBy by, size_t block);

/* What a block is called where it is drawn, g_free(): the tensor that lies in it, "fc.weight",
 * else the module that asked for it, else the line, else its category; "" where nothing of
 * these is known. */
char *tessera_name_block (const TesseraWhose *whose, size_t block);

/* "step 1, forward", "before the first step", "": g_free(). */
char *tessera_name_moment (const TesseraWhose *whose, uint32_t event_index);

/* Where the last request failed and what it was for, else where the run is fullest, and what
 * filled the memory then: the second sentence of every verdict. "Refused in step 3, backward:
 * 7.83 GiB for loss and logits. Of 25.34 GiB in use: 62 % activation (layers.0-11), 22 %
 * optimizer state." "" for a trace without events. g_free(). Linear in blocks. */
char *tessera_describe_filling (const TesseraWhose *whose);

/* "7.83 GiB for loss and logits, loss_utils.py:42 ForCausalLMLoss": what the request that failed
 * at @event_index was for, g_free(). NULL: none failed then. */
char *tessera_describe_refused (const TesseraWhose *whose, uint32_t event_index);

/* The row of each block under @by: [n_blocks] into @names, to which names are added that are
 * the caller's, each once. g_free(). @event_index: blocks that are not live then are in no row,
 * TESSERA_NONE; TESSERA_NONE: all are in one. Of a module the name is the whole path. */
uint32_t *tessera_owner_rows (const TesseraWhose *whose,
                              TesseraBy by,
                              uint32_t event_index,
                              GPtrArray *names);

/* The first part of a module's path that is a number, "7.mlp" of "layers.7.mlp", and its length;
 * NULL: none is, or it is no path. */
const char *tessera_find_instance (const char *path, size_t *out_n);

/* A module's path with "*" for its numbers: "layers.*.mlp". What is no path stays. g_free(). */
char *tessera_name_alike (const char *name);

/* "0-2,4": of numbers (uint64_t) that ascend, with @separator between. g_free(). */
char *tessera_list_numbers (const GArray *numbers, const char *separator);

/* Folded stacks, as flame graphs are drawn from: "outer;inner;innermost BYTES", a line a
 * stack, of what is live at @event_index. g_free(). */
char *tessera_folded_stacks (const TesseraWhose *whose, uint32_t event_index);

/* ---- changes.c: what is live at a moment of one run, beside a moment of another ---- */

typedef struct
{
  char *
      name; /* owned; of a module with "*" for numbers in its path: layers change alike */
  uint64_t before_bytes, after_bytes;
  uint64_t before_blocks, after_blocks;
} TesseraChange;

/* Rows of both, largest change first: TesseraChange, g_array_unref(). What did not change has
 * its row as well. A line that moved inside its function, because the source was changed
 * elsewhere, is the same line, also where the file has another name. */
GArray *tessera_changes (const TesseraWhose *before,
                         uint32_t before_index,
                         const TesseraWhose *after,
                         uint32_t after_index,
                         TesseraBy by);

/* The peak of each kind of phase in both, in their order: TesseraChange, g_array_unref(). A
 * change that is not at the peak of all shows there. As blocks: 1 where there is such a phase. */
GArray *tessera_phase_changes (const TesseraWhose *before, const TesseraWhose *after);
