/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nullcuda/private.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static NullRanges known; /* data: a copy of the bytes; value: the kernel before it */
static _Atomic uint64_t n_kernels;
static uint64_t known_bytes;

static void
keep (uint64_t addr, const void *bytes, uint64_t n_bytes, uint64_t kernel)
{
  NullRange range = { addr, n_bytes, kernel, n_bytes > 0 ? malloc (n_bytes) : NULL };
  if (range.data == NULL)
    return;
  memcpy (range.data, bytes, n_bytes);
  if (null_ranges_insert (&known, range))
    known_bytes += n_bytes;
  else
    free (range.data);
}

/* Whether the range still tells what a copy of [addr, addr + n_bytes) would find. */
static bool
is_young (const NullRange *range, uint64_t addr, uint64_t n_bytes)
{
  bool is_whole = range->addr == addr && range->n_bytes == n_bytes;
  return n_kernels - range->value <= (is_whole ? NULL_REMEMBERED_KERNELS : 0);
}

void
null_remembered_age (void)
{
  n_kernels++;
}

/* Takes [addr, addr + n_bytes) out of what is known, keeps what lies before and behind
 * it, and copies what it takes to @out where that is not NULL. Returns: whether it copied
 * any. */
static bool
cut (uint64_t addr, uint64_t n_bytes, char *out)
{
  uint64_t end = addr + n_bytes;
  bool is_known = false;
  size_t index;
  while ((index = null_ranges_at (&known, addr)) < known.n &&
         known.items[index].addr < end)
    {
      NullRange range = known.items[index];
      uint64_t range_end = range.addr + range.n_bytes;
      uint64_t from = range.addr > addr ? range.addr : addr;
      uint64_t to = range_end < end ? range_end : end;
      const char *bytes = range.data;
      null_ranges_remove (&known, index);
      known_bytes -= range.n_bytes;
      if (out != NULL && is_young (&range, addr, n_bytes))
        {
          memcpy (out + (from - addr), bytes + (from - range.addr), to - from);
          is_known = true;
        }
      keep (range.addr, bytes, from - range.addr, range.value);
      keep (to, bytes + (to - range.addr), range_end - to, range.value);
      free (range.data);
    }
  return is_known;
}

void
null_remembered_put (uint64_t addr, const void *bytes, size_t n_bytes)
{
  pthread_mutex_lock (&lock);
  cut (addr, n_bytes, NULL);
  if (known_bytes > NULL_REMEMBERED_BYTES)
    {
      for (size_t i = 0; i < known.n; i++)
        free (known.items[i].data);
      known.n = 0;
      known_bytes = 0;
    }
  if (n_bytes <= NULL_REMEMBERED_COPY_BYTES)
    keep (addr, bytes, n_bytes, n_kernels);
  pthread_mutex_unlock (&lock);
}

bool
null_remembered_take (uint64_t addr, void *out, size_t n_bytes)
{
  pthread_mutex_lock (&lock);
  bool is_known = cut (addr, n_bytes, out);
  pthread_mutex_unlock (&lock);
  return is_known;
}

void
null_remembered_forget (uint64_t addr, uint64_t n_bytes)
{
  pthread_mutex_lock (&lock);
  cut (addr, n_bytes, NULL);
  pthread_mutex_unlock (&lock);
}

/* Answers laid ready for coming copies to the host, such as counts of nonzero(). */

typedef struct Answer Answer;

struct Answer
{
  Answer *next;
  size_t n_bytes;
  char bytes[];
};

static pthread_mutex_t answer_lock = PTHREAD_MUTEX_INITIALIZER;
static Answer *first_answer, **last_answer = &first_answer;

/* The next copy of exactly @n_bytes from the device to the host, by any thread, gives
 * @bytes (copied here). Answers of one length are used in the order in which they came.
 */
NULL_API (void, nullcuda_answer, const void *bytes, size_t n_bytes)
{
  Answer *answer = malloc (sizeof *answer + n_bytes);
  if (answer == NULL)
    return;
  answer->next = NULL;
  answer->n_bytes = n_bytes;
  memcpy (answer->bytes, bytes, n_bytes);
  pthread_mutex_lock (&answer_lock);
  *last_answer = answer;
  last_answer = &answer->next;
  pthread_mutex_unlock (&answer_lock);
}

bool
null_answer_take (void *out, size_t n_bytes)
{
  pthread_mutex_lock (&answer_lock);
  Answer **link = &first_answer;
  while (*link != NULL && (*link)->n_bytes != n_bytes)
    link = &(*link)->next;
  Answer *answer = *link;
  if (answer != NULL)
    {
      *link = answer->next;
      if (last_answer == &answer->next)
        last_answer = link;
    }
  pthread_mutex_unlock (&answer_lock);
  if (answer == NULL)
    return false;
  memcpy (out, answer->bytes, n_bytes);
  free (answer);
  return true;
}
