/* See tell.h. SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cli/tell.h"

enum
{
  N_CURVE = 10, /* lengths up to the most that needs are told for */
  N_SEEN = 12   /* lengths that were seen and are listed */
};

char *
cli_proof_text (const TesseraPlan *plan)
{
  char text[128];

  tessera_plan_describe_proof (plan, text, sizeof text);
  return g_strdup (text);
}

void
cli_member_proof (const TesseraPlan *plan)
{
  g_autofree char *proof = cli_proof_text (plan);

  cli_member ("proven_bound_bytes", tessera_plan_proven_bound (plan));
  cli_member ("gap", tessera_plan_gap (plan));
  if (tessera_plan_is_optimal (plan))
    cli_member_bool ("optimal", TRUE);
  else
    cli_member_null ("optimal");
  cli_member ("proof", proof);
  cli_member_bool ("cut_short", plan->cut_short);
}

static const char *
followable_name (const TesseraPlan *plan)
{
  return plan->followable == TESSERA_FOLLOWABLE_YES            ? "yes"
         : plan->followable == TESSERA_FOLLOWABLE_SAME_BATCHES ? "same batches only"
                                                               : "no";
}

char *
cli_followable_text (const TesseraPlan *plan)
{
  if (plan->lengths != NULL && plan->followable == TESSERA_FOLLOWABLE_NO)
    return g_strdup_printf (
        "at other lengths by the plan for every length; these offsets by no run: %s",
        plan->follow_reason);
  if (plan->lengths != NULL && plan->followable == TESSERA_FOLLOWABLE_SAME_BATCHES)
    return g_strdup ("at other lengths by the plan for every length; these offsets with "
                     "the same batches in the same order");
  return g_strdup_printf ("%s%s%s", followable_name (plan),
                          plan->follow_reason != NULL ? ": " : "",
                          plan->follow_reason != NULL ? plan->follow_reason : "");
}

void
cli_member_followable (const TesseraPlan *plan)
{
  cli_member ("followable", followable_name (plan));
  cli_member ("follow_reason", plan->follow_reason);
}

char *
cli_hits_text (const TesseraLayout *followed)
{
  const guint64 n_misses = followed->n_misses, n_planned = followed->n_planned_misses;
  GString *text = g_string_new (NULL);

  g_string_printf (text, "%" G_GUINT64_FORMAT " hits, %" G_GUINT64_FORMAT " misses",
                   followed->n_hits, n_misses);
  if (n_planned > 0 && n_planned == n_misses)
    g_string_append (text, ", all planned");
  else if (n_planned > 0)
    g_string_append_printf (text, ", %" G_GUINT64_FORMAT " of them planned", n_planned);
  return g_string_free (text, FALSE);
}

void
cli_member_hits (const TesseraLayout *followed)
{
  cli_member ("hits", followed->n_hits);
  cli_member ("misses", followed->n_misses);
  cli_member ("planned_misses", followed->n_planned_misses);
}

/* What a step keeps by one line. */
typedef struct
{
  char *line;
  uint32_t section; /* the first kind of step that does */
  guint64 bytes, n_requests;
} Kept;

static void
clear_kept (gpointer kept)
{
  g_free (((Kept *) kept)->line);
}

/* Of several kinds of step that keep something by a line the first is told, of two layouts
 * too. Array of Kept, in the order of requests. */
static GArray *
list_kept (const CliStudy *study)
{
  const TesseraPlan *plan = study->plan;
  /* A dry run records the stacks of its first steps alone. */
  TesseraOrigins origins =
      tessera_origins_new (study->trace, study->blocks, study->structure);
  GArray *rows = g_array_new (FALSE, TRUE, sizeof (Kept));

  g_array_set_clear_func (rows, clear_kept);
  for (size_t i = 0; i < plan->n_unplanned; i++)
    {
      const TesseraUnplanned *unplanned = &plan->unplanned[i];
      guint k = 0;

      if (plan->sections[unplanned->section].kind != TESSERA_SECTION_REPEATS ||
          unplanned->block >= study->blocks->n_blocks)
        continue;
      g_autofree char *line =
          tessera_name_line (study->trace, origins.stacks[unplanned->block]);
      while (k < rows->len && !g_str_equal (g_array_index (rows, Kept, k).line, line))
        k++;
      if (k == rows->len)
        {
          const Kept fresh = { g_steal_pointer (&line), unplanned->section, 0, 0 };
          g_array_append_val (rows, fresh);
        }
      Kept *row = &g_array_index (rows, Kept, k);
      row->bytes += row->section == unplanned->section ? unplanned->block_bytes : 0;
      row->n_requests += row->section == unplanned->section;
    }
  tessera_origins_clear (&origins);
  return rows;
}

void
cli_tell_kept (const CliStudy *study)
{
  static const char *const columns[] = { "line", "bytes", "requests", NULL };
  const gboolean is_edited =
      study->history != NULL && tessera_history_get_n_standing (study->history) > 0;
  g_autoptr (GArray) rows = is_edited ? NULL : list_kept (study);

  if (rows != NULL && rows->len > 0)
    cli_say ("each step keeps beyond the next one:\n");
  CliTable *table = cli_table_new ("kept", columns);
  for (guint i = 0; rows != NULL && i < rows->len; i++)
    {
      const Kept *row = &g_array_index (rows, Kept, i);

      cli_table_text (table, row->line);
      CLI_INTEGERS (table, row->bytes, row->n_requests);
    }
  cli_table_print (table);
}

char *
cli_most_text (const TesseraLengths *lengths)
{
  GString *text = g_string_new (NULL);
  uint64_t longest = 0;

  for (uint32_t i = 0; i < lengths->n_observed; i++)
    longest = MAX (longest, lengths->observed[i].length);
  g_string_append_printf (text, "%" G_GUINT64_FORMAT, lengths->most.length);
  if (longest == lengths->most.length)
    g_string_append (text, " (the longest seen)");
  else
    g_string_append_printf (text, " (%.2f times the longest seen)",
                            (double) lengths->most.length / (double) MAX (longest, 1));
  if (lengths->has_batch)
    g_string_append_printf (text, " and batch up to %" G_GUINT64_FORMAT,
                            lengths->most.batch);
  return g_string_free (text, FALSE);
}

char *
cli_lengths_text (const TesseraLengths *lengths)
{
  TesseraLengthsNeed need;
  const TesseraParameters at = tessera_lengths_fullest (lengths, &need);
  const double ratio = (double) need.height_bytes / (double) MAX (need.bound_bytes, 1);
  g_autofree char *most = cli_most_text (lengths);
  GString *text = g_string_new (NULL);

  g_string_printf (text, "every length up to %s: %s at length %" G_GUINT64_FORMAT, most,
                   TESSERA_SIZE (need.height_bytes), at.length);
  if (lengths->has_batch)
    g_string_append_printf (text, " and batch %" G_GUINT64_FORMAT, at.batch);
  if (need.height_bytes > need.bound_bytes)
    g_string_append_printf (text, ", %.2f %% above the bound there",
                            MAX (100 * (ratio - 1), 0.01));
  else
    g_string_append (text, ", the bound there");
  if (at.length < lengths->most.length &&
      tessera_lengths_measure (lengths, &lengths->most, &need))
    g_string_append_printf (text, "; %s at length %" G_GUINT64_FORMAT,
                            TESSERA_SIZE (need.height_bytes), lengths->most.length);
  return g_string_free (text, FALSE);
}

/* What the plan takes at that length. */
static void
tell_length (const TesseraLengths *lengths, const TesseraParameters *at, gboolean is_said)
{
  TesseraLengthsNeed need;

  if (!tessera_lengths_measure (lengths, at, &need))
    return;
  if (is_said && lengths->has_batch)
    cli_say ("  batch %3" G_GUINT64_FORMAT ",", at->batch);
  if (is_said)
    cli_say ("  length %6" G_GUINT64_FORMAT
             " (seen): height %s, bound %s, height / bound %.4f\n",
             at->length, TESSERA_SIZE (need.height_bytes),
             TESSERA_SIZE (need.bound_bytes),
             (double) need.height_bytes / (double) MAX (need.bound_bytes, 1));
  cli_object (NULL);
  cli_member ("batch", at->batch);
  cli_member ("length", at->length);
  cli_member ("height_bytes", need.height_bytes);
  cli_member ("bound_bytes", need.bound_bytes);
  cli_close ();
}

static gint
by_length (gconstpointer a, gconstpointer b)
{
  const TesseraParameters *left = a, *right = b;

  return left->length != right->length ? (left->length > right->length ? 1 : -1)
         : left->batch != right->batch ? (left->batch > right->batch ? 1 : -1)
                                       : 0;
}

/* Those that were seen, each once; programs have them all, people as many as they read. */
static void
tell_seen (const TesseraLengths *lengths)
{
  g_autoptr (GArray) seen = g_array_new (FALSE, FALSE, sizeof (TesseraParameters));

  g_array_append_vals (seen, lengths->observed, lengths->n_observed);
  g_array_sort (seen, by_length);
  for (guint i = seen->len; i-- > 1;)
    if (by_length (&g_array_index (seen, TesseraParameters, i),
                   &g_array_index (seen, TesseraParameters, i - 1)) == 0)
      g_array_remove_index (seen, i);
  const guint each = seen->len > N_SEEN ? (seen->len + N_SEEN - 2) / (N_SEEN - 1) : 1;
  for (guint i = 0; i < seen->len; i++)
    tell_length (lengths, &g_array_index (seen, TesseraParameters, i),
                 i % each == 0 || i + 1 == seen->len);
}

static guint
count_placed (const TesseraLengths *lengths, TesseraPlaceKind place)
{
  guint n = 0;

  for (guint32 i = 0; i < lengths->n_slots; i++)
    n += lengths->slots[i].place == place;
  return n;
}

/* At the lengths that were seen, and for programs at tenths of the longest. */
static void
tell_lengths (const TesseraLengths *lengths)
{
  cli_array ("parameters");
  tell_seen (lengths);
  cli_close ();
  cli_array ("curve");
  for (uint64_t i = 1; i <= N_CURVE; i++)
    tell_length (
        lengths,
        &(TesseraParameters){ .batch = lengths->most.batch,
                              .length = MAX (lengths->most.length * i / N_CURVE, 1) },
        FALSE);
  cli_close ();
}

void
cli_tell_laws (const CliStudy *study)
{
  const TesseraLengths *lengths = study->lengths;
  const TesseraKind *kind = tessera_laws_main (study->laws);
  const char *phase = kind != NULL ? study->laws->parts.phase : NULL;

  if (!cli_object_if ("steps_that_vary", kind != NULL))
    return;
  if (phase != NULL)
    cli_say ("steps vary in parts, cut where \"%s\" begins again; ", cli_shown (phase));
  cli_say ("%ss that vary: %u of %zu are alike but for length and batch\n",
           phase != NULL ? "part" : "step", kind->n_steps,
           phase != NULL ? study->laws->parts.structure.n_steps
                         : study->structure->n_steps);
  if (lengths == NULL && study->why_no_lengths != NULL)
    cli_say ("%s\n", cli_shown (study->why_no_lengths));
  cli_member ("no_plan_for_every_length", study->why_no_lengths);
  if (lengths != NULL)
    {
      g_autofree char *most = cli_most_text (lengths);
      guint n_left = count_placed (lengths, TESSERA_PLACE_NONE);

      cli_say ("one plan for every length up to %s: %u slots in %u order%s, %u with a "
               "fixed place",
               most, lengths->n_slots, lengths->n_orders,
               lengths->n_orders == 1 ? "" : "s",
               count_placed (lengths, TESSERA_PLACE_FIXED));
      if (n_left > 0)
        cli_say (", %u with none", n_left);
      cli_say ("; checked\n");
      tell_lengths (lengths);
    }
  cli_close ();
}
