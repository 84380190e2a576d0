/*
 * Answers laid ready for coming copies to the host, such as counts of nonzero().
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "nullcuda/remembered.h"

typedef struct Answer Answer;

struct Answer
{
  Answer *next;
  size_t n_bytes;
  char bytes[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Answer *first, **last = &first;

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
  pthread_mutex_lock (&lock);
  *last = answer;
  last = &answer->next;
  pthread_mutex_unlock (&lock);
}

bool
null_answer_take (void *out, size_t n_bytes)
{
  pthread_mutex_lock (&lock);
  Answer **link = &first;
  while (*link != NULL && (*link)->n_bytes != n_bytes)
    link = &(*link)->next;
  Answer *answer = *link;
  if (answer != NULL)
    {
      *link = answer->next;
      if (last == &answer->next)
        last = link;
    }
  pthread_mutex_unlock (&lock);
  if (answer == NULL)
    return false;
  memcpy (out, answer->bytes, n_bytes);
  free (answer);
  return true;
}
