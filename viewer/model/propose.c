/*
 * A place that is proposed for what is selected, until it is pinned there or not.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/data.h"
#include "viewer/model/document-private.h"

#include <stdlib.h>
#include <string.h>

/* --- where blocks could lie instead -------------------------------------------------- */

/* How often the person may say stop. */
#define BLOCKS_A_REPORT 65536

typedef struct
{
  uint32_t born, died;
} Life;

/* One slot that moves: a place, and when it is taken. */
typedef struct
{
  uint64_t addr;
  uint64_t n_bytes;
  uint16_t stream;
  uint8_t lifetime_class;
  GArray *lives; /* Life, by birth, disjoint */
} Lane;

typedef struct
{
  const TesseraBlock *blocks;
  const TesseraLayout *layout;
  GArray *lanes;  /* Lane, by place, each once */
  uint8_t *moves; /* [n_blocks] */
  Life hull;
} Search;

static int
compare_lanes (gconstpointer x, gconstpointer y)
{
  const Lane *a = x, *b = y;

  if (a->addr != b->addr)
    return a->addr < b->addr ? -1 : 1;
  if (a->n_bytes != b->n_bytes)
    return a->n_bytes < b->n_bytes ? -1 : 1;
  return a->stream != b->stream ? a->stream - b->stream
                                : a->lifetime_class - b->lifetime_class;
}

/* 0: they meet. */
static int
compare_lives (gconstpointer x, gconstpointer y)
{
  const Life *a = x, *b = y;

  return a->died <= b->born ? -1 : a->born >= b->died;
}

static void
lane_clear (gpointer user)
{
  g_clear_pointer (&((Lane *) user)->lives, g_array_unref);
}

void
tessera_landings_free (TesseraLandings *landings)
{
  if (landings == NULL)
    return;
  g_free (landings->blocks);
  g_free (landings->distance_bytes);
  g_array_unref (landings->obstacles);
  g_array_unref (landings->stops);
  g_free (landings);
}

static gboolean
is_placed (const TesseraLayout *layout, uint32_t block)
{
  return layout->addr[block] != TESSERA_NOWHERE && layout->is_hit != NULL &&
         layout->is_hit[block];
}

/* Without lives. */
static Lane
lane_of (const Search *search, uint32_t block)
{
  return (Lane){ .addr = search->layout->addr[block],
                 .n_bytes = search->layout->block_bytes[block],
                 .stream = search->blocks[block].stream,
                 .lifetime_class = search->blocks[block].lifetime_class };
}

/* The chosen ones that can be moved, and the slots they lie in. */
static void
take_chosen (Search *search,
             TesseraLandings *landings,
             const uint32_t *chosen,
             size_t n_chosen)
{
  g_autoptr (GArray) all = g_array_new (FALSE, FALSE, sizeof (Lane));

  landings->blocks = g_new (uint32_t, n_chosen);
  landings->distance_bytes = g_new (uint64_t, n_chosen);
  for (size_t i = 0; i < n_chosen; i++)
    if (is_placed (search->layout, chosen[i]))
      {
        Lane lane = lane_of (search, chosen[i]);

        landings->blocks[landings->n_blocks++] = chosen[i];
        g_array_append_val (all, lane);
      }
  g_array_sort (all, compare_lanes);
  for (guint i = 0; i < all->len; i++)
    {
      Lane *lane = &g_array_index (all, Lane, i);

      if (i > 0 && compare_lanes (lane - 1, lane) == 0)
        continue;
      lane->lives = g_array_new (FALSE, FALSE, sizeof (Life));
      g_array_append_val (search->lanes, *lane);
    }
  if (all->len == 0)
    return;
  landings->base_bytes = g_array_index (all, Lane, 0).addr - landings->pool_addr;
  for (size_t i = 0; i < landings->n_blocks; i++)
    landings->distance_bytes[i] = search->layout->addr[landings->blocks[i]] -
                                  landings->pool_addr - landings->base_bytes;
}

static void
find_lives (Search *search, uint32_t n_blocks)
{
  search->hull = (Life){ UINT32_MAX, 0 };
  for (uint32_t i = 0; i < n_blocks; i++)
    {
      Lane key = lane_of (search, i);
      Life life = { search->blocks[i].born_index, search->layout->died_index[i] };
      guint at;

      if (!is_placed (search->layout, i) ||
          !g_array_binary_search (search->lanes, &key, compare_lanes, &at))
        continue;
      search->moves[i] = 1;
      g_array_append_val (g_array_index (search->lanes, Lane, at).lives, life);
      search->hull.born = MIN (search->hull.born, life.born);
      search->hull.died = MAX (search->hull.died, life.died);
    }
}

static TesseraStatus
find_obstacles (Search *search,
                TesseraLandings *landings,
                uint32_t n_blocks,
                const TesseraProgress *progress)
{
  const int64_t base = (int64_t) landings->base_bytes;

  for (uint32_t i = 0; i < n_blocks; i++)
    {
      Life life = { search->blocks[i].born_index, search->layout->died_index[i] };

      if (i % BLOCKS_A_REPORT == 0 &&
          !tessera_progress (progress, (double) i / (double) n_blocks))
        return TESSERA_CANCELLED;
      if (search->moves[i] || !is_placed (search->layout, i) ||
          life.born >= search->hull.died || life.died <= search->hull.born)
        continue;
      for (guint k = 0; k < search->lanes->len; k++)
        {
          const Lane *lane = &g_array_index (search->lanes, Lane, k);
          /* Where the lowest lies while this lane begins where the block does. */
          int64_t bottom = (int64_t) (search->layout->addr[i] - lane->addr) + base;
          TesseraObstacle obstacle = {
            .block = i,
            .low = bottom - (int64_t) lane->n_bytes,
            .high = bottom + (int64_t) search->layout->block_bytes[i],
          };

          if (obstacle.high > 0 &&
              g_array_binary_search (lane->lives, &life, compare_lives, NULL))
            g_array_append_val (landings->obstacles, obstacle);
        }
    }
  return TESSERA_OK;
}

static const TesseraObstacle *
obstacle_at (const TesseraLandings *landings, guint i)
{
  return &g_array_index (landings->obstacles, TesseraObstacle, i);
}

static TesseraStop *
stop_at (const TesseraLandings *landings, guint i)
{
  return &g_array_index (landings->stops, TesseraStop, i);
}

static int
compare_obstacles (gconstpointer x, gconstpointer y)
{
  const TesseraObstacle *a = x, *b = y;

  return (a->low > b->low) - (a->low < b->low);
}

static int
compare_stops (gconstpointer x, gconstpointer y)
{
  const TesseraStop *a = x, *b = y;

  return (a->offset_bytes > b->offset_bytes) - (a->offset_bytes < b->offset_bytes);
}

static void
add_stop (TesseraLandings *landings, int64_t offset_bytes)
{
  if (offset_bytes >= 0)
    g_array_append_vals (landings->stops, &(TesseraStop){ (uint64_t) offset_bytes }, 1);
}

/* Obstacles by their low end: the furthest high end so far tells what is free. */
static void
make_stops (TesseraLandings *landings)
{
  guint n = 0, next = 0;
  int64_t reach = INT64_MIN;

  g_array_sort (landings->obstacles, compare_obstacles);
  add_stop (landings, 0);
  add_stop (landings, (int64_t) landings->base_bytes);
  for (guint i = 0; i < landings->obstacles->len; i++)
    {
      add_stop (landings, obstacle_at (landings, i)->low);
      add_stop (landings, obstacle_at (landings, i)->high);
    }
  g_array_sort (landings->stops, compare_stops);
  for (guint i = 0; i < landings->stops->len; i++)
    {
      TesseraStop stop = *stop_at (landings, i);
      int64_t at = (int64_t) stop.offset_bytes;

      if (n > 0 && stop_at (landings, n - 1)->offset_bytes == stop.offset_bytes)
        continue;
      for (; next < landings->obstacles->len && obstacle_at (landings, next)->low < at;
           next++)
        reach = MAX (reach, obstacle_at (landings, next)->high);
      stop.is_free = reach <= at;
      *stop_at (landings, n++) = stop;
    }
  g_array_set_size (landings->stops, n);
}

TesseraStatus
tessera_landings_new (TesseraFollowed *planned,
                      const uint32_t *chosen,
                      size_t n_chosen,
                      const TesseraProgress *progress,
                      TesseraError *error,
                      TesseraLandings **out_landings)
{
  uint32_t n_blocks = (uint32_t) planned->data->blocks->n_blocks;
  TesseraLandings *landings = g_new0 (TesseraLandings, 1);
  g_autoptr (GArray) lanes = g_array_new (FALSE, FALSE, sizeof (Lane));
  g_autofree uint8_t *moves = g_new0 (uint8_t, MAX (n_blocks, 1));
  Search search = { .blocks = planned->data->blocks->blocks,
                    .layout = planned->layout,
                    .lanes = lanes,
                    .moves = moves };
  TesseraStatus status = TESSERA_OK;

  *out_landings = NULL;
  g_array_set_clear_func (lanes, lane_clear);
  landings->pool_addr = planned->layout->pool_addr;
  landings->n_all = n_blocks;
  landings->obstacles = g_array_new (FALSE, FALSE, sizeof (TesseraObstacle));
  landings->stops = g_array_new (FALSE, TRUE, sizeof (TesseraStop));
  take_chosen (&search, landings, chosen, n_chosen);
  if (landings->n_blocks == 0)
    status = tessera_fail (error, TESSERA_REFUSED,
                           "What is selected has no place in the plan's pool: there is "
                           "nothing to move.");
  if (status == TESSERA_OK)
    {
      find_lives (&search, n_blocks);
      status = find_obstacles (&search, landings, n_blocks, progress);
    }
  if (status == TESSERA_OK)
    {
      make_stops (landings);
      *out_landings = g_steal_pointer (&landings);
    }
  tessera_landings_free (landings);
  return status;
}

/* The stop that is nearest to @offset_bytes, above it alone (@direction > 0) or below it
 * (< 0), or any (0): a free one where one is within @reach_bytes. Where there is none:
 * @offset_bytes. */
static uint64_t
find_stop (const TesseraLandings *landings,
           int64_t offset_bytes,
           int direction,
           uint64_t reach_bytes)
{
  uint64_t nearest = (uint64_t) offset_bytes, least = UINT64_MAX;
  gboolean is_meant = FALSE;

  for (guint i = 0; i < landings->stops->len; i++)
    {
      const TesseraStop *stop = stop_at (landings, i);
      int64_t above = (int64_t) stop->offset_bytes - offset_bytes;
      uint64_t way = (uint64_t) ABS (above);
      gboolean is_one = stop->is_free && way <= reach_bytes;

      if ((direction > 0 && above <= 0) || (direction < 0 && above >= 0) ||
          is_one < is_meant || (is_one == is_meant && way > least))
        continue;
      nearest = stop->offset_bytes;
      least = way;
      is_meant = is_one;
    }
  return nearest;
}

TesseraSelection *
tessera_landings_pushed (const TesseraLandings *landings, uint64_t offset_bytes)
{
  uint8_t *is_pushed = g_new0 (uint8_t, landings->n_all);

  for (guint i = 0; i < landings->obstacles->len; i++)
    {
      const TesseraObstacle *obstacle = obstacle_at (landings, i);

      if (obstacle->low < (int64_t) offset_bytes &&
          obstacle->high > (int64_t) offset_bytes)
        is_pushed[obstacle->block] = 1;
    }
  return tessera_selection_new (landings->n_all, is_pushed);
}

/* --- what lies elsewhere in the next picture ----------------------------------------- */

static double
area (const TesseraMove *move)
{
  return (move->to.t1 - move->to.t0) * (move->to.y1 - move->to.y0);
}

static int
compare_areas (gconstpointer x, gconstpointer y)
{
  double a = area (x), b = area (y);

  return (a < b) - (a > b);
}

GArray *
tessera_moves_new (const TesseraSheet *from, const TesseraSheet *to)
{
  size_t n_blocks = to->data->blocks->n_blocks;
  GArray *moves = g_array_new (FALSE, FALSE, sizeof (TesseraMove));

  for (size_t i = 0; i < n_blocks; i++)
    {
      TesseraMove move = { .block = (uint32_t) i };
      TesseraView was;

      if (!tessera_scene_block_rect (from->scene, move.block, &was) ||
          !tessera_scene_block_rect (to->scene, move.block, &move.to) ||
          was.y0 == move.to.y0)
        continue;
      move.from_y0 = was.y0;
      g_array_append_val (moves, move);
    }
  g_array_sort (moves, compare_areas);
  g_array_set_size (moves, MIN (moves->len, TESSERA_MOST_MOVES));
  return moves;
}

/* --- a place that is proposed -------------------------------------------------------- */

static TesseraStatus
find_places (TesseraJob *job, TesseraError *error)
{
  return tessera_landings_new (
      job->planned, job->selection->blocks, job->selection->n_blocks,
      tessera_job_progress (job, 0, 1, FALSE), error, &job->landings);
}

static void
move_to (TesseraDocument *self, uint64_t offset_bytes)
{
  TesseraProposal *proposal = &self->proposal;

  if (proposal->offset_bytes == offset_bytes)
    return;
  proposal->offset_bytes = offset_bytes;
  tessera_selection_unref (proposal->pushed);
  proposal->pushed = tessera_landings_pushed (proposal->landings, offset_bytes);
  tessera_document_changed (self, TESSERA_CHANGED_PROPOSAL);
}

static gboolean
is_at_one_place (const TesseraLandings *landings)
{
  for (size_t i = 0; i < landings->n_blocks; i++)
    if (landings->distance_bytes[i] != 0)
      return FALSE;
  return TRUE;
}

static void
accept (TesseraDocument *self, gboolean by_rule)
{
  const TesseraLandings *landings = self->proposal.landings;
  TesseraSelection *moved;
  TesseraEdit edit;

  if (landings == NULL || self->selection == NULL)
    return;
  moved =
      tessera_selection_of_blocks (landings->n_all, landings->blocks, landings->n_blocks);
  edit = tessera_edit_of (TESSERA_EDIT_PIN);
  edit.at = self->proposal.offset_bytes;
  /* What lies at one place is told by a rule; the distances of several are of these very
   * blocks. */
  if (!is_at_one_place (landings) || self->selection->n_blocks != landings->n_blocks)
    {
      by_rule = FALSE;
      edit.shape = g_memdup2 (landings->distance_bytes,
                              landings->n_blocks * sizeof *landings->distance_bytes);
    }
  tessera_document_drop_proposal (self);
  tessera_document_edit_blocks (self, moved, &edit, by_rule);
}

static void
take_places (TesseraDocument *self, TesseraJob *job)
{
  if (job->planned != self->planned)
    return;
  self->proposal.landings = g_steal_pointer (&job->landings);
  self->proposal.offset_bytes = TESSERA_NOWHERE;
  move_to (self, job->is_pin ? job->bytes : self->proposal.landings->base_bytes);
  if (job->is_pin)
    accept (self, job->by_rule);
  else if (job->direction != 0)
    tessera_document_propose_next (self, job->direction, job->pushing);
}

static const TesseraWorkKind places_kind = { TESSERA_WORK_PLACES, "places", find_places,
                                             take_places };

/* NULL: there is nothing to be moved. */
static TesseraJob *
places_new (TesseraDocument *self)
{
  tessera_document_drop_proposal (self);
  if (self->selection == NULL || self->planned == NULL)
    return NULL;
  return tessera_job_new (self, &places_kind);
}

static void
propose (TesseraDocument *self, int direction, gboolean pushing)
{
  TesseraJob *job = places_new (self);

  if (job == NULL)
    return;
  job->direction = direction;
  job->pushing = pushing;
  tessera_job_start (self, job);
}

void
tessera_document_pin_at (TesseraDocument *self, uint64_t offset_bytes, gboolean by_rule)
{
  TesseraJob *job = places_new (self);

  if (job == NULL)
    return;
  job->is_pin = TRUE;
  job->bytes = offset_bytes;
  job->by_rule = by_rule;
  tessera_job_start (self, job);
}

void
tessera_document_propose (TesseraDocument *self)
{
  propose (self, 0, FALSE);
}

gboolean
tessera_document_is_proposing (TesseraDocument *self)
{
  return self->proposal.landings != NULL || self->jobs[TESSERA_WORK_PLACES] != NULL;
}

void
tessera_document_propose_at (TesseraDocument *self,
                             int64_t offset_bytes,
                             uint64_t reach_bytes)
{
  if (self->proposal.landings != NULL)
    move_to (self, find_stop (self->proposal.landings, offset_bytes, 0, reach_bytes));
}

void
tessera_document_propose_next (TesseraDocument *self, int direction, gboolean pushing)
{
  if (self->proposal.landings != NULL)
    move_to (self,
             find_stop (self->proposal.landings, (int64_t) self->proposal.offset_bytes,
                        direction, pushing ? 0 : UINT64_MAX));
  else if (self->jobs[TESSERA_WORK_PLACES] == NULL)
    propose (self, direction, pushing);
}

void
tessera_document_drop_proposal (TesseraDocument *self)
{
  g_clear_pointer (&self->jobs[TESSERA_WORK_PLACES], tessera_job_drop);
  if (self->proposal.landings == NULL)
    return;
  g_clear_pointer (&self->proposal.landings, tessera_landings_free);
  g_clear_pointer (&self->proposal.pushed, tessera_selection_unref);
  tessera_document_changed (self, TESSERA_CHANGED_PROPOSAL);
}

void
tessera_document_accept_proposal (TesseraDocument *self)
{
  accept (self, TRUE);
}

char *
tessera_document_describe_proposal (TesseraDocument *self)
{
  const TesseraProposal *proposal = &self->proposal;
  const char *place = TESSERA_SIZE (proposal->offset_bytes);

  if (proposal->landings == NULL)
    return NULL;
  if (proposal->offset_bytes == proposal->landings->base_bytes)
    return g_strdup_printf ("%s, as it lies", place);
  if (proposal->pushed == NULL)
    return g_strdup_printf ("%s, free", place);
  return g_strdup_printf ("%s, pushes %s", place,
                          TESSERA_COUNTED (proposal->pushed->n_blocks, "block"));
}
