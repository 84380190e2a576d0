/*
 * What several blocks have in common, in words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document.h"

#include "cli/command.h"

/* Lines of what differs from block to block, most common first; the others are counted. */
#define MOST_LINES 4

/* --- what differs from block to block ------------------------------------------------- */

typedef char *(*Describe) (const TesseraData *data, const TesseraBlock *block);

static char *
describe_size (const TesseraData *data, const TesseraBlock *block)
{
  return g_strdup (TESSERA_SIZE (block->size_bytes));
}

static char *
describe_group (const TesseraData *data, const TesseraBlock *block)
{
  return g_strdup (block->group < data->n_groups ? data->groups[block->group].name
                                                 : "no group");
}

static const char *
name_of_phase (const TesseraData *data, uint32_t phase)
{
  return phase != TESSERA_NONE ? cli_shown (tessera_phase_name (
                                     data->trace, &data->structure->phases[phase]))
                               : "no phase";
}

static char *
describe_phases (const TesseraData *data, const TesseraBlock *block)
{
  const char *born = name_of_phase (data, block->born_phase);
  const char *died = name_of_phase (data, block->died_phase);

  /* Blocks that live on are others than those that die in no phase. */
  if (block->died_phase == TESSERA_NONE && block->flags & TESSERA_AT_END)
    return g_strdup_printf ("%s, lives on", born);
  return g_str_equal (born, died) ? g_strdup (born)
                                  : g_strdup_printf ("%s → %s", born, died);
}

typedef struct
{
  char *text;
  size_t n_blocks;
} Common;

static void
common_clear (gpointer user)
{
  g_free (((Common *) user)->text);
}

static int
compare_common (gconstpointer a, gconstpointer b)
{
  const Common *x = a, *y = b;

  return (x->n_blocks < y->n_blocks) - (x->n_blocks > y->n_blocks);
}

/* Those that read alike are one: a phase of every step is. */
static GArray *
count_common (const TesseraData *data,
              const TesseraSelection *selection,
              Describe describe)
{
  /* To a number in @all, and one more. */
  g_autoptr (GHashTable) number_of = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *all = g_array_new (FALSE, FALSE, sizeof (Common));

  g_array_set_clear_func (all, common_clear);
  for (size_t i = 0; i < selection->n_blocks; i++)
    {
      Common one = { describe (data, &data->blocks->blocks[selection->blocks[i]]), 0 };
      guint number = GPOINTER_TO_UINT (g_hash_table_lookup (number_of, one.text));

      if (number == 0)
        {
          g_array_append_val (all, one);
          number = all->len;
          g_hash_table_insert (number_of, one.text, GUINT_TO_POINTER (number));
        }
      else
        g_free (one.text);
      g_array_index (all, Common, number - 1).n_blocks++;
    }
  return all;
}

/* "12 × 1.00 MiB, 3 × 2.00 MiB, 7 more", a line each. */
static char *
describe_common (const TesseraData *data,
                 const TesseraSelection *selection,
                 Describe describe)
{
  g_autoptr (GArray) all = count_common (data, selection, describe);
  GString *text = g_string_new (NULL);

  g_array_sort (all, compare_common);
  for (guint i = 0; i < MIN (all->len, MOST_LINES); i++)
    {
      const Common *one = &g_array_index (all, Common, i);

      g_string_append_printf (text, "%s%s × %s", i > 0 ? "\n" : "",
                              TESSERA_COUNT (one->n_blocks), one->text);
    }
  if (all->len > MOST_LINES)
    g_string_append_printf (text, "\n%s more", TESSERA_COUNT (all->len - MOST_LINES));
  return g_string_free (text, FALSE);
}

/* --- sums ------------------------------------------------------------------------------ */

typedef struct
{
  uint64_t peak_bytes;                    /* block bytes alive at the trace's peak */
  uint32_t least_life, most_life;         /* events */
  uint64_t n_of_class[TESSERA_N_CLASSES]; /* blocks */
  uint32_t first_step, last_step;         /* of birth; TESSERA_NONE: none is in a step */
  uint32_t n_streams;
} Sums;

static Sums
sum_up (const TesseraData *data, TesseraSelectionFacts *facts)
{
  g_autofree uint8_t *streams = g_malloc0 (UINT16_MAX + 1);
  Sums sums = { .least_life = UINT32_MAX, .first_step = TESSERA_NONE };

  for (size_t i = 0; i < facts->selection->n_blocks; i++)
    {
      const TesseraBlock *b = &data->blocks->blocks[facts->selection->blocks[i]];
      uint32_t life = b->died_index - b->born_index;

      facts->size_bytes += b->size_bytes;
      if (b->born_index <= data->bound_index && b->died_index > data->bound_index)
        sums.peak_bytes += b->block_bytes;
      sums.least_life = MIN (sums.least_life, life);
      sums.most_life = MAX (sums.most_life, life);
      if (b->lifetime_class < TESSERA_N_CLASSES)
        sums.n_of_class[b->lifetime_class]++;
      /* TESSERA_NONE is more than any. */
      sums.first_step = MIN (sums.first_step, b->step);
      if (b->step != TESSERA_NONE)
        sums.last_step = MAX (sums.last_step, b->step);
      sums.n_streams += !streams[b->stream];
      streams[b->stream] = 1;
    }
  return sums;
}

/* The most that is alive at once: a height below which they cannot lie. */
static char *
describe_most (const TesseraData *data, const TesseraSelection *selection)
{
  const uint32_t n_events = data->blocks->n_events;
  g_autofree int64_t *changes = g_new0 (int64_t, (size_t) n_events + 1);
  uint64_t most_bytes;
  uint32_t most_index;

  for (size_t i = 0; i < selection->n_blocks; i++)
    {
      const TesseraBlock *b = &data->blocks->blocks[selection->blocks[i]];

      changes[MIN (b->born_index, n_events)] += (int64_t) b->block_bytes;
      changes[MIN (b->died_index, n_events)] -= (int64_t) b->block_bytes;
    }
  most_bytes = tessera_highest_sum (changes, n_events, &most_index);
  return g_strdup_printf ("%s at most, from event %s", TESSERA_SIZE (most_bytes),
                          TESSERA_COUNT (most_bytes > 0 ? most_index : 0));
}

static char *
describe_classes (const Sums *sums)
{
  GString *text = g_string_new (NULL);

  for (uint8_t class = 0; class < TESSERA_N_CLASSES; class ++)
    if (sums->n_of_class[class] > 0)
      g_string_append_printf (text, "%s%s %s", text->len > 0 ? ", " : "",
                              TESSERA_COUNT (sums->n_of_class[class]),
                              tessera_class_name (class));
  return g_string_free (text, FALSE);
}

static char *
describe_steps (const TesseraData *data, const Sums *sums)
{
  const TesseraStep *steps = data->structure->steps;

  if (sums->first_step == TESSERA_NONE)
    return g_strdup ("outside of steps");
  if (sums->first_step == sums->last_step)
    return g_strdup_printf ("%" G_GINT64_FORMAT, steps[sums->first_step].number);
  return g_strdup_printf ("%" G_GINT64_FORMAT " to %" G_GINT64_FORMAT,
                          steps[sums->first_step].number, steps[sums->last_step].number);
}

static char *
describe_lives (const Sums *sums)
{
  const char *most = TESSERA_COUNTED (sums->most_life, "event");

  return sums->least_life == sums->most_life
             ? g_strdup (most)
             : g_strdup_printf ("%s to %s", TESSERA_COUNT (sums->least_life), most);
}

/* --- all of it ------------------------------------------------------------------------- */

void
tessera_selection_facts (const TesseraData *data,
                         TesseraSelection *selection,
                         TesseraSelectionFacts *out_facts)
{
  Sums sums;

  out_facts->selection = tessera_selection_ref (selection);
  sums = sum_up (data, out_facts);
  char *const texts[TESSERA_N_COMMON] = {
    [TESSERA_COMMON_AT_PEAK] = g_strdup_printf (
        "%s, %.1f %% of it", TESSERA_SIZE (sums.peak_bytes),
        100.0 * (double) sums.peak_bytes / (double) MAX (data->bound_bytes, 1)),
    [TESSERA_COMMON_AT_ONCE] = describe_most (data, selection),
    [TESSERA_COMMON_CLASSES] = describe_classes (&sums),
    [TESSERA_COMMON_PHASES] = describe_common (data, selection, describe_phases),
    [TESSERA_COMMON_SIZES] = describe_common (data, selection, describe_size),
    [TESSERA_COMMON_GROUPS] = describe_common (data, selection, describe_group),
    [TESSERA_COMMON_STEPS] = describe_steps (data, &sums),
    [TESSERA_COMMON_LIVES] = describe_lives (&sums),
    [TESSERA_COMMON_STREAMS] = g_strdup_printf ("%u", sums.n_streams),
  };
  memcpy (out_facts->texts, texts, sizeof texts);
}

void
tessera_selection_facts_clear (TesseraSelectionFacts *facts)
{
  for (int i = 0; i < TESSERA_N_COMMON; i++)
    g_free (facts->texts[i]);
  tessera_selection_unref (facts->selection);
  *facts = (TesseraSelectionFacts){ 0 };
}
