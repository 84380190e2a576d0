/*
 * Made-up packing problems. See generate.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"

/* Splitmix64: the same everywhere. 0 <= result < 1. */
static double
random_fraction (uint64_t *state)
{
  uint64_t z = (*state += UINT64_C (0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C (0x94d049bb133111eb);
  return (double) ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

#define KIB UINT64_C (1024)
#define MAX_LAYERS 48
#define MAX_DEPTH 16
#define MAX_KEPT 10 /* of a layer and micro-batch */
#define N_EXPERTS 8

/* One model in training. */
typedef struct
{
  uint32_t n_layers;
  uint32_t depth;         /* micro-batches in flight */
  uint32_t n_kept;        /* of a layer, until its backward pass */
  uint32_t n_passing;     /* of a layer, forward or backward */
  uint64_t kept_bytes[8]; /* sizes; experts: scaled by what is drawn */
  uint64_t passing_bytes[8];
  bool has_experts;

  uint32_t layer;  /* of the pass in progress */
  uint32_t n_done; /* forward passes */
  bool is_backward;
  uint32_t kept[MAX_DEPTH][MAX_LAYERS][MAX_KEPT]; /* items, UINT32_MAX: none */
} Model;

typedef struct
{
  TesseraItem *items;
  uint32_t n_items, cap_items;
  uint32_t now;
  uint64_t random_state;
} Maker;

static const Model three[] = {
  { .n_layers = 24,
    .depth = 8,
    .n_kept = 6,
    .n_passing = 6,
    .kept_bytes = { 8192, 1536, 3072, 512, 6144, 96 },
    .passing_bytes = { 12288, 4096, 2048, 640, 9216, 5120 } },
  { .n_layers = 16,
    .depth = 5,
    .n_kept = 6,
    .n_passing = 6,
    .kept_bytes = { 10240, 2560, 1280, 320, 7680, 160 },
    .passing_bytes = { 20480, 3584, 896, 14336, 1792, 448 } },
  { .n_layers = 40,
    .depth = 11,
    .n_kept = 6,
    .n_passing = 6,
    .kept_bytes = { 4608, 1152, 2304, 288, 3456, 72 },
    .passing_bytes = { 6912, 5760, 576, 8064, 4032, 1008 } },
};

static const Model experts = {
  .n_layers = 24,
  .depth = 6,
  .n_kept = 8,
  .n_passing = 8,
  .kept_bytes = { 6144, 3072, 2048, 512, 1024, 4096, 256, 768 },
  .passing_bytes = { 9216, 8192, 1536, 2560, 5120, 640, 384, 12288 },
  .has_experts = true,
};

/* Returns: the item, or UINT32_MAX when there are enough. Its end is far off. */
static uint32_t
make (Maker *maker, uint64_t size_kib)
{
  if (maker->n_items == maker->cap_items)
    return UINT32_MAX;
  maker->items[maker->n_items] = (TesseraItem){ .size_bytes = size_kib * KIB,
                                                .begin = maker->now++,
                                                .end = UINT32_MAX };
  return maker->n_items++;
}

static void
end_item (Maker *maker, uint32_t item)
{
  if (item != UINT32_MAX)
    maker->items[item].end = maker->now++;
}

/* What an expert gets of what all get: rarely an even share. */
static uint64_t
share (Maker *maker, const Model *model, uint64_t size_kib)
{
  if (!model->has_experts)
    return size_kib;
  double drawn = random_fraction (&maker->random_state);
  return 1 + (uint64_t) ((double) size_kib * (0.1 + 1.9 * drawn * drawn));
}

/* Some blocks that live for an operator or two, each born before the last one goes. */
static void
pass_by (Maker *maker, const Model *model)
{
  uint32_t last = UINT32_MAX;
  for (uint32_t i = 0; i < model->n_passing; i++)
    {
      uint32_t item = make (maker, share (maker, model, model->passing_bytes[i]));
      end_item (maker, last);
      last = item;
    }
  end_item (maker, last);
}

/* One layer, forward or backward. */
static void
do_layer (Maker *maker, Model *model)
{
  uint32_t oldest = model->n_done % model->depth;
  uint32_t layer = model->is_backward ? model->n_layers - 1 - model->layer : model->layer;
  uint32_t *kept = model->kept[oldest][layer];
  for (uint32_t i = 0; i < model->n_kept; i++)
    if (model->is_backward)
      {
        end_item (maker, kept[i]);
        kept[i] = UINT32_MAX;
        if (i == 2)
          pass_by (maker, model);
      }
    else
      {
        kept[i] = make (maker, share (maker, model, model->kept_bytes[i]));
        if (i == 2)
          pass_by (maker, model);
      }
}

/* The next layer; one micro-batch forward, and one backward where all are in flight. The
 * one that goes backward is the oldest: the next forward pass takes its place. */
static void
go_on (Maker *maker, Model *model)
{
  do_layer (maker, model);
  if (++model->layer < model->n_layers)
    return;
  model->layer = 0;
  if (model->is_backward)
    model->is_backward = false;
  else
    {
      model->n_done++;
      model->is_backward = model->n_done >= model->depth;
    }
}

static void
start (Maker *maker, Model *model, const Model *like)
{
  *model = *like;
  for (uint32_t m = 0; m < MAX_DEPTH; m++)
    for (uint32_t l = 0; l < MAX_LAYERS; l++)
      for (uint32_t k = 0; k < MAX_KEPT; k++)
        model->kept[m][l][k] = UINT32_MAX;
  /* Weights and what the optimizer keeps: to the end. */
  for (uint32_t i = 0; i < model->n_layers; i++)
    make (maker, model->kept_bytes[i % model->n_kept] * 2);
}

const char *
generate_name (GenerateKind kind)
{
  static const char *const names[GENERATE_N_KINDS] = { "three pipelines",
                                                       "three pipelines that drift",
                                                       "experts" };
  return names[kind];
}

void
generate_items (GenerateKind kind, uint64_t seed, TesseraItem *items, uint32_t n_items)
{
  const uint32_t n_models = kind == GENERATE_EXPERTS ? 1 : 3;
  Maker maker = { .items = items, .cap_items = n_items, .random_state = seed };
  g_autofree Model *models = g_new (Model, n_models);
  for (uint32_t i = 0; i < n_models; i++)
    start (&maker, &models[i], kind == GENERATE_EXPERTS ? &experts : &three[i]);
  for (uint32_t turn = 0; maker.n_items < n_items; turn++)
    {
      if (kind == GENERATE_DRIFT)
        turn = (uint32_t) (random_fraction (&maker.random_state) * n_models);
      go_on (&maker, &models[turn % n_models]);
    }
  for (uint32_t i = 0; i < n_items; i++)
    if (items[i].end == UINT32_MAX)
      items[i].end = maker.now;
}

/* ---- schedules of pipelines ---- */

#define N_STAGES 4
#define N_BATCHES 56 /* micro-batches of a step */
#define N_LAYERS 8   /* of a rank */
#define MOST_CHUNKS 2

/* What one operator of a layer makes, in KiB: GPT, hidden size 4,096, 2,048 tokens. */
typedef enum
{
  PASSES, /* the next operator needs it, and nobody else */
  STAYS,  /* until the backward pass of the layer */
  SCORES  /* so too; with selective recomputation made again there */
} Fate;

typedef struct
{
  uint32_t size_kib;
  Fate fate;
} Operator;

static const Operator operators[] = {
  { 16384, STAYS },   { 8, STAYS },       { 8, STAYS },       { 49152, STAYS },
  { 16384, PASSES },  { 262144, SCORES }, { 262144, SCORES }, { 131072, SCORES },
  { 262144, SCORES }, { 16384, STAYS },   { 16384, PASSES },  { 8192, STAYS },
  { 16384, STAYS },   { 16384, STAYS },   { 8, STAYS },       { 8, STAYS },
  { 65536, STAYS },   { 65536, STAYS },   { 16384, PASSES },  { 8192, STAYS },
};
#define N_OPERATORS ((uint32_t) G_N_ELEMENTS (operators))

typedef struct
{
  const GenerateSchedule *schedule;
  GArray *items;
  uint32_t now;
  uint64_t random_state;
  double scales[N_BATCHES];
  uint32_t kept[N_BATCHES][N_LAYERS][N_OPERATORS];
} Run;

static uint32_t
be_born (Run *run, double size_kib)
{
  const TesseraItem item = { .size_bytes = MAX (1, (uint64_t) (size_kib * 2)) * KIB / 2,
                             .begin = run->now++ };
  g_array_append_val (run->items, item);
  return run->items->len - 1;
}

static void
die (Run *run, uint32_t item)
{
  g_array_index (run->items, TesseraItem, item).end = run->now++;
}

static bool
is_kept (const Run *run, uint32_t k)
{
  return operators[k].fate == STAYS ||
         (operators[k].fate == SCORES && !run->schedule->is_recomputed);
}

/* The operators of a layer in turn. @kept: receives what stays, or NULL: all goes when the
 * next operator is done; @is_backward: from the last, each beside what it is the gradient
 * of, which goes then. */
static void
run_layer (Run *run, uint32_t batch, uint32_t layer, bool is_backward)
{
  uint32_t *kept = run->kept[batch][layer], scores[N_OPERATORS], last = UINT32_MAX;
  for (uint32_t i = 0; i < N_OPERATORS; i++)
    {
      const uint32_t k = is_backward ? N_OPERATORS - 1 - i : i;
      const bool is_made_again = operators[k].fate == SCORES && !is_kept (run, k);
      if (is_backward && is_made_again && operators[k + 1].fate != SCORES)
        for (uint32_t m = 0; m < N_OPERATORS; m++)
          if (operators[m].fate == SCORES)
            scores[m] = be_born (run, operators[m].size_kib * run->scales[batch]);
      const uint32_t made = be_born (run, operators[k].size_kib * run->scales[batch]);
      if (last != UINT32_MAX)
        die (run, last);
      last = made;
      if (is_backward && is_made_again)
        die (run, scores[k]);
      else if (is_backward && is_kept (run, k))
        die (run, kept[k]);
      else if (!is_backward && is_kept (run, k))
        {
          kept[k] = made;
          last = UINT32_MAX;
        }
    }
  if (last != UINT32_MAX)
    die (run, last);
}

/* The @number-th forward or backward pass of the rank, of one micro-batch through one chunk
 * of its layers: chunks take turns after as many micro-batches as there are stages. */
static void
run_pass (Run *run, uint32_t number, bool is_backward)
{
  const uint32_t n_chunks = run->schedule->n_chunks, n_layers = N_LAYERS / n_chunks;
  uint32_t chunk = number % (N_STAGES * n_chunks) / N_STAGES;
  const uint32_t batch = number / (N_STAGES * n_chunks) * N_STAGES + number % N_STAGES;
  if (is_backward)
    chunk = n_chunks - 1 - chunk;
  for (uint32_t i = 0; i < n_layers; i++)
    run_layer (run, batch, chunk * n_layers + (is_backward ? n_layers - 1 - i : i),
               is_backward);
}

GArray *
generate_schedule (const GenerateSchedule *schedule)
{
  const uint32_t n_passes = N_BATCHES * schedule->n_chunks;
  const uint32_t n_after = N_STAGES - 1 - schedule->rank;
  const uint32_t n_ahead = schedule->n_chunks == 1
                               ? n_after
                               : 2 * n_after + (schedule->n_chunks - 1) * N_STAGES;
  g_autofree Run *run = g_new0 (Run, 1);
  *run = (Run){ .schedule = schedule,
                .items = g_array_new (FALSE, TRUE, sizeof (TesseraItem)),
                .random_state = 1 };
  for (uint32_t b = 0; b < N_BATCHES; b++)
    run->scales[b] =
        1 + schedule->jitter * (random_fraction (&run->random_state) * 2 - 1);
  /* Weights, gradients, and three copies of 32 bits of the optimizer, to the end. */
  for (uint32_t i = 0; i < N_LAYERS * 5; i++)
    be_born (run, i % 5 == 0 ? 393216 : 786432);
  for (uint32_t i = 0; i < n_passes + n_ahead; i++)
    {
      if (i < n_passes)
        run_pass (run, i, false);
      if (i >= n_ahead)
        run_pass (run, i - n_ahead, true);
    }
  for (uint32_t i = 0; i < N_LAYERS * 5; i++)
    die (run, i);
  return run->items;
}

/* ---- the graph of a compiler ---- */

#define N_OF_GRAPH 18692
#define N_SIZES_OF_GRAPH 33

GArray *
generate_graph (void)
{
  GArray *items = g_array_new (FALSE, TRUE, sizeof (TesseraItem));
  uint64_t random_state = 7;
  for (uint32_t i = 0; i < N_OF_GRAPH; i++)
    {
      const double drawn = random_fraction (&random_state);
      const double length = random_fraction (&random_state);
      const uint32_t k = (uint32_t) (drawn * drawn * N_SIZES_OF_GRAPH);
      const bool is_forward = i < N_OF_GRAPH / 3, stays = is_forward && i % 4 == 0;
      const uint32_t mirrored = N_OF_GRAPH - i * 2;
      const TesseraItem item = {
        .size_bytes = (UINT64_C (512) + 128 * (k % 4)) << (k / 2),
        .begin = i,
        .end = stays ? mirrored + (uint32_t) (length * 40) + 1
                     : i + 1 + (uint32_t) (length * length * 60),
      };
      g_array_append_val (items, item);
    }
  return items;
}
