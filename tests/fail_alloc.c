/*
 * Making the k-th allocation fail, for tests: the linker's --wrap leads here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fail_alloc.h"

#include <stdatomic.h>
#include <string.h>

void *__real_malloc (size_t n_bytes);
void *__real_calloc (size_t n_items, size_t item_bytes);
void *__real_realloc (void *block, size_t n_bytes);
void __real_free (void *block);

/* Visible, since the linker leads there what a shared library asks of the C library too. */
#pragma GCC visibility push(default)
void *__wrap_malloc (size_t n_bytes);
void *__wrap_calloc (size_t n_items, size_t item_bytes);
void *__wrap_realloc (void *block, size_t n_bytes);
void __wrap_free (void *block);
char *__wrap_strdup (const char *text);
char *__wrap_strndup (const char *text, size_t n_bytes);
#pragma GCC visibility pop

static atomic_long n_left; /* allocations until the one that fails; 0: not armed */
static atomic_bool has_failed;
static atomic_long n_held;

void
tessera_fail_alloc_at (unsigned long nth)
{
  has_failed = false;
  n_left = (long) nth;
}

bool
tessera_fail_alloc_stop (void)
{
  n_left = 0;
  return has_failed;
}

long
tessera_fail_alloc_held (void)
{
  return n_held;
}

static bool
is_to_fail (void)
{
  if (n_left <= 0 || atomic_fetch_sub (&n_left, 1) != 1)
    return false;
  has_failed = true;
  return true;
}

static void *
count (void *block)
{
  if (block)
    n_held++;
  return block;
}

void *
__wrap_malloc (size_t n_bytes)
{
  return is_to_fail () ? NULL : count (__real_malloc (n_bytes));
}

void *
__wrap_calloc (size_t n_items, size_t item_bytes)
{
  return is_to_fail () ? NULL : count (__real_calloc (n_items, item_bytes));
}

void *
__wrap_realloc (void *block, size_t n_bytes)
{
  if (is_to_fail ())
    return NULL;
  void *moved = __real_realloc (block, n_bytes);

  return block ? moved : count (moved);
}

void
__wrap_free (void *block)
{
  if (block)
    n_held--;
  __real_free (block);
}

char *
__wrap_strndup (const char *text, size_t n_bytes)
{
  size_t length = strnlen (text, n_bytes);
  char *copy = __wrap_malloc (length + 1);

  if (!copy)
    return NULL;
  memcpy (copy, text, length);
  copy[length] = '\0';
  return copy;
}

char *
__wrap_strdup (const char *text)
{
  return __wrap_strndup (text, strlen (text));
}
