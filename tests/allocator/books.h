/*
 * A device that keeps books, and a watcher of all that a policy hands out over it.
 *
 * Whatever the policy does, these hold, else the program ends:
 *   - a block lies at a multiple of 512 in memory that is there, in no other block that is
 *     live or pending, and in order for its stream (witness.h);
 *   - no memory is given back in which a live or pending block lies.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <glib.h>

#include "allocator/device.h"
#include "tests/allocator/witness.h"

#define BOOKS_PAGE_BYTES ((uint64_t) 2 << 20)

typedef struct
{
  uint64_t addr, size_bytes;
  guint position; /* of its end, in the program's time; for whoever frees it */
  enum
  {
    BOOKS_LIVE,
    BOOKS_PENDING,
    BOOKS_DONE
  } state;
} BooksBlock;

typedef struct
{
  TesseraDevice device; /* must be first */
  uint64_t device_bytes, used_bytes, peak_used_bytes;
  uint64_t now_ns;          /* by its clock */
  TesseraStatus fails_with; /* those of its calls that fail: */
  guint fails_after;        /* behind the next so many ... */
  guint n_to_fail;          /* ... so many */
  guint n_failed;           /* that did */
  guint n_reserved;         /* ranges of addresses that were not given back */
  guint n_lost_to_come; /* so many of the next unmappings leave the memory where it is, as
                           where a driver refuses to wait; mapping there fails for ever */
  void (*synchronize) (void *user);
  void *user;

  /* Private. */
  Witness *witness;
  WitnessRequest request; /* the last one */
  GArray *pages; /* bool: of each page since the first address, whether memory is there */
  GArray *reservations; /* of each page: bytes of the pages that are mapped there */
  GArray *blocks;       /* BooksBlock, ever */
  gboolean has_lost;    /* memory */
} Books;

typedef enum
{
  BOOKS_GRANT,
  BOOKS_NOWHERE,  /* part of it has no memory */
  BOOKS_TAKEN,    /* somebody lives there */
  BOOKS_UNORDERED /* the stream may race with the last use */
} BooksVerdict;

void books_init (Books *books, uint64_t device_bytes);
void books_clear (Books *books);

/* The program tells them of each request, stream and end before it tells the policy. */
void books_request (Books *books, uint64_t size_bytes, uint32_t stream, uint32_t pool);
void books_stream (Books *books);
/* Whether the last request may have the range. */
BooksVerdict books_ask (const Books *books, uint64_t addr, uint64_t block_bytes);
/* The policy granted the last request, which is asserted to be right. Returns: the block's number. */
guint books_grant (Books *books, uint64_t addr, uint64_t block_bytes);
BooksBlock *books_block (const Books *books, guint block);
void books_done (Books *books, guint block);
