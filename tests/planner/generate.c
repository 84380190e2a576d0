/*
 * Made-up packing problems. See generate.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/planner/generate.h"

#include "planner/pack/random.h"

#include <stdlib.h>

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
  double drawn = tessera_random_fraction (&maker->random_state);
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
tessera_generate_name (TesseraGenerateKind kind)
{
  static const char *const names[TESSERA_N_GENERATE_KINDS] = {
    "three pipelines", "three pipelines that drift", "experts"
  };
  return names[kind];
}

TesseraStatus
tessera_generate (TesseraGenerateKind kind,
                  uint64_t seed,
                  TesseraItem *items,
                  uint32_t n_items)
{
  const uint32_t n_models = kind == TESSERA_GENERATE_EXPERTS ? 1 : 3;
  Maker maker = { .items = items, .cap_items = n_items, .random_state = seed };
  Model *models = malloc (n_models * sizeof *models);
  if (models == NULL)
    return TESSERA_NO_MEMORY;
  for (uint32_t i = 0; i < n_models; i++)
    start (&maker, &models[i], kind == TESSERA_GENERATE_EXPERTS ? &experts : &three[i]);
  for (uint32_t turn = 0; maker.n_items < n_items; turn++)
    {
      if (kind == TESSERA_GENERATE_DRIFT)
        turn = (uint32_t) (tessera_random_fraction (&maker.random_state) * n_models);
      go_on (&maker, &models[turn % n_models]);
    }
  for (uint32_t i = 0; i < n_items; i++)
    if (items[i].end == UINT32_MAX)
      items[i].end = maker.now;
  free (models);
  return TESSERA_OK;
}
