/*
 * What a request and its free cost inside the library, under native, expandable and plan:
 * loops over so many live blocks, and the steps of a made-up training. Each is recorded
 * and planned in this very run, so that the plan is one that suits. The last column is
 * the plan's time over the smaller of the others: only ratios of one run compare.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/runtime/program.h"

#define KIB ((size_t) 1 << 10)
#define MIB ((size_t) 1 << 20)

enum
{
  N_RECORDED = 5, /* steps that a plan is made of */
  N_REQUESTS = 1000000,
  N_ROUNDS = 3, /* of all; the least counts */
  MOST_LIVE = 3000,
  N_LAYERS = 48
};

typedef struct
{
  const char *name;
  size_t n_live; /* 0: the training */
  size_t size_bytes;
} Load;

static void *live[MOST_LIVE];

static void
take (size_t i, size_t size_bytes)
{
  live[i] = tessera_torch_alloc ((ssize_t) size_bytes, 0, NULL);
}

static void
give_back (size_t i, size_t size_bytes)
{
  tessera_torch_free (live[i], size_bytes, 0, NULL);
}

/* As a layer does: a workspace, what its backward pass needs, and something small. */
static size_t
train_one (void)
{
  for (size_t i = 0; i < N_LAYERS; i++)
    {
      take (2 * i, 3 * MIB + 512 * i);
      take (N_LAYERS * 4, MIB + 4096 * i);
      take (2 * i + 1, 4096);
      give_back (N_LAYERS * 4, MIB + 4096 * i);
    }
  for (size_t i = N_LAYERS; i-- > 0;)
    {
      take (N_LAYERS * 4, 5 * MIB);
      take (N_LAYERS * 4 + 1, 512 * (i + 1));
      give_back (2 * i + 1, 4096);
      give_back (2 * i, 3 * MIB + 512 * i);
      give_back (N_LAYERS * 4 + 1, 512 * (i + 1));
      give_back (N_LAYERS * 4, 5 * MIB);
    }
  return 5 * N_LAYERS;
}

/* Returns: how many requests a step makes. */
static size_t
step (const Load *load, int number)
{
  tessera_step (number);
  if (load->n_live == 0)
    return train_one ();
  for (size_t i = 0; i < load->n_live; i++)
    {
      size_t k = i * 7919 % load->n_live;

      give_back (k, load->size_bytes);
      take (k, load->size_bytes);
    }
  return load->n_live;
}

static void
run (const Load *load, int n_steps)
{
  for (size_t i = 0; i < load->n_live; i++)
    take (i, load->size_bytes);
  for (int i = 0; i < n_steps; i++)
    step (load, i);
}

static void
end (const Load *load)
{
  tessera_step (-1);
  for (size_t i = 0; i < load->n_live; i++)
    give_back (i, load->size_bytes);
}

static void
start (const char *key, const char *value)
{
  tessera_configure ("rank", "1");
  tessera_configure ("world", "4");
  tessera_configure ("torch", "2.15.0");
  if (tessera_configure (key, value) != 0 || tessera_start () != 0)
    {
      fprintf (stderr, "%s\n", tessera_last_error ());
      _exit (EXIT_FAILURE);
    }
  tessera_torch_has_record_stream (1);
}

static void
record (const Load *load)
{
  start ("record", program_file ("bench.tsr"));
  run (load, N_RECORDED);
  end (load);
  tessera_stop ();
}

/* Of this thread alone: the machine may have other things to do. */
static double
now_ns (void)
{
  struct timespec now;

  clock_gettime (CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * (double) now.tv_sec + (double) now.tv_nsec;
}

static void
measure (const Load *load, const char *policy, int result)
{
  size_t n = 0;
  double begin, ns;

  start (strcmp (policy, "plan") == 0 ? "plan" : "policy",
         strcmp (policy, "plan") == 0 ? program_file ("bench.tsp") : policy);
  run (load, N_RECORDED);
  begin = now_ns ();
  for (int i = N_RECORDED; n < N_REQUESTS; i++)
    n += step (load, i);
  ns = (now_ns () - begin) / (double) n;
  if (strcmp (policy, "plan") == 0)
    {
      TesseraDeviceStats stats = program_stats ();

      if (stats.hits < stats.misses * 1000)
        fprintf (stderr, "%s: %llu hits, %llu misses\n", load->name,
                 (unsigned long long) stats.hits, (unsigned long long) stats.misses);
    }
  if (write (result, &ns, sizeof ns) != sizeof ns)
    _exit (EXIT_FAILURE);
}

/* In a process of its own: the library starts once. Returns: nanoseconds; 0: recorded. */
static double
in_child (const Load *load, const char *policy)
{
  int ends[2], status;
  double ns = 0;
  pid_t child;

  if (pipe (ends) != 0 || (child = fork ()) < 0)
    exit (EXIT_FAILURE);
  if (child == 0)
    {
      if (policy == NULL)
        record (load);
      else
        measure (load, policy, ends[1]);
      _exit (EXIT_SUCCESS);
    }
  close (ends[1]);
  if (waitpid (child, &status, 0) < 0 || status != 0 ||
      (policy != NULL && read (ends[0], &ns, sizeof ns) != sizeof ns))
    exit (EXIT_FAILURE);
  close (ends[0]);
  return ns;
}

/* runtime-bench [LOAD] */
int
main (int argc, char **argv)
{
  static const Load loads[] = {
    { "training", 0, 0 },
    { "100 of 4 KiB", 100, 4 * KIB },
    { "3,000 of 4 KiB", MOST_LIVE, 4 * KIB },
    { "100 of 4 MiB", 100, 4 * MIB },
    { "3,000 of 4 MiB", MOST_LIVE, 4 * MIB },
  };
  static const char *const policies[] = { "native", "expandable", "plan" };

  program_init (&argc, &argv);
  printf ("%-16s %8s %10s %6s %8s\n", "ns a request", "native", "expandable", "plan",
          "of less");
  for (size_t i = 0; i < sizeof loads / sizeof loads[0]; i++)
    {
      double ns[] = { 1e9, 1e9, 1e9 };

      if (argc > 1 && strcmp (argv[1], loads[i].name) != 0)
        continue;
      in_child (&loads[i], NULL);
      program_plan ("bench.tsr", 0, "bench.tsp");
      for (int round = 0; round < N_ROUNDS; round++)
        for (size_t k = 0; k < 3; k++)
          {
            double took = in_child (&loads[i], policies[k]);

            ns[k] = took < ns[k] ? took : ns[k];
          }
      printf ("%-16s %8.0f %10.0f %6.0f %8.2f\n", loads[i].name, ns[0], ns[1], ns[2],
              ns[2] / (ns[0] < ns[1] ? ns[0] : ns[1]));
      fflush (stdout);
    }
  return EXIT_SUCCESS;
}
