/* See categories.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/categories.h"

#include <string.h>
#include <strings.h>

#include "answers/categories-rules.h"
#include "db/status.h"
#include "planner/modules.h"

static const char *const names[TESSERA_N_CATEGORIES] = {
  [TESSERA_PARAMETER] = "parameter",
  [TESSERA_GRADIENT] = "gradient",
  [TESSERA_OPTIMIZER_STATE] = "optimizer state",
  [TESSERA_ACTIVATION] = "activation",
  [TESSERA_LOSS] = "loss and logits",
  [TESSERA_TEMPORARY_FORWARD] = "temporary of forward",
  [TESSERA_TEMPORARY_BACKWARD] = "temporary of backward",
  [TESSERA_TEMPORARY_RECOMPUTATION] = "temporary of recomputation",
  [TESSERA_TEMPORARY_OPTIMIZER] = "temporary of optimizer",
  [TESSERA_INPUT] = "input batch",
  [TESSERA_COMMUNICATION] = "communication buffer",
  [TESSERA_WORKSPACE] = "workspace",
  [TESSERA_KV_CACHE] = "KV cache",
  [TESSERA_KEPT] = "kept between steps",
  [TESSERA_UNKNOWN_BEFORE] = "unknown: there before the recording began",
  [TESSERA_UNKNOWN_NO_STACK] = "unknown: no stack",
  [TESSERA_UNKNOWN] = "unknown: no rule holds",
};

/* Where in a run a block is born. */
typedef enum
{
  PART_START,
  PART_SETUP,
  PART_STEP,
  PART_FORWARD,
  PART_BACKWARD,
  PART_OPTIMIZER,
  N_PARTS
} Part;

static const char *const part_names[N_PARTS] = { "start",   "setup",    "step",
                                                 "forward", "backward", "optimizer" };

static const char *const tensor_names[] = { "", "parameter", "gradient",
                                            "optimizer_state", "buffer" };

typedef enum
{
  CONDITION_TENSOR,
  CONDITION_IN,
  CONDITION_AT,
  CONDITION_MODULE,
  CONDITION_PHASE,
  CONDITION_BORN,
  CONDITION_DIED,
  CONDITION_SPANS,
  CONDITION_AFTER,
  CONDITION_KEPT,
  CONDITION_SHORT,
  CONDITION_SILENT,
  CONDITION_DIVIDED,
  CONDITION_UNDIVIDED,
  CONDITION_PASSES,
  CONDITION_OPEN,
  CONDITION_SIZED,
  CONDITION_MISSING,
  CONDITION_CONTINUED,
  CONDITION_SIZE,
  N_CONDITIONS
} ConditionKind;

static const char *const condition_words[N_CONDITIONS] = {
  "tensor", "in",    "at",    "module",  "phase",     "born",    "died",
  "spans",  "after", "kept",  "short",   "silent",    "divided", "undivided",
  "passes", "open",  "sized", "missing", "continued", "size",
};

typedef struct
{
  ConditionKind kind;
  uint64_t number; /* kind of tensor, part, bytes; which of those on lines, or on names */
  char **texts;    /* alternatives */
} Condition;

typedef struct
{
  TesseraCategory category;
  GArray *conditions; /* Condition */
} Rule;

struct TesseraRules
{
  GArray *rules;  /* Rule */
  size_t n_lines; /* conditions on stacks */
  size_t n_names; /* ... and on names */
};

/* What the rules look at. */
typedef struct
{
  Part part;
  Part died;
  uint32_t part_end;        /* TESSERA_NONE: it has none */
  uint8_t tensor;           /* TesseraTensorKind, 0: the run said nothing */
  bool holds[N_CONDITIONS]; /* of conditions that are a word alone */
} Facts;

const char *
tessera_category_name (TesseraCategory category)
{
  return (unsigned) category < TESSERA_N_CATEGORIES ? names[category] : "";
}

bool
tessera_category_is_unknown (TesseraCategory category)
{
  return category >= TESSERA_UNKNOWN_BEFORE;
}

/* ---- Reading ---- */

static void
clear_condition (gpointer condition)
{
  g_strfreev (((Condition *) condition)->texts);
}

static void
clear_rule (gpointer rule)
{
  g_array_unref (((Rule *) rule)->conditions);
}

/* The place of @word among @words, or @n. */
static size_t
find_word (const char *const *words, size_t n, const char *word)
{
  size_t i = 0;

  while (i < n && strcmp (words[i], word) != 0)
    i++;
  return i;
}

static bool
read_condition (TesseraRules *rules, const char *text, Condition *condition)
{
  g_auto (GStrv) words = g_strsplit (text, " ", 2);
  const char *value = words[0] != NULL && words[1] != NULL ? g_strstrip (words[1]) : "";
  size_t kind = words[0] != NULL ? find_word (condition_words, N_CONDITIONS, words[0])
                                 : (size_t) N_CONDITIONS;

  *condition = (Condition){ .kind = (ConditionKind) kind };
  switch (kind)
    {
    case CONDITION_TENSOR:
      condition->number = find_word (tensor_names, G_N_ELEMENTS (tensor_names), value);
      return value[0] != '\0' && condition->number < G_N_ELEMENTS (tensor_names);
    case CONDITION_BORN:
    case CONDITION_DIED:
    case CONDITION_SPANS:
      condition->number = find_word (part_names, N_PARTS, value);
      return condition->number < N_PARTS;
    case CONDITION_SIZE:
      return g_ascii_string_to_unsigned (value, 10, 1, G_MAXUINT64, &condition->number,
                                         NULL);
    case CONDITION_IN:
    case CONDITION_AT:
    case CONDITION_MODULE:
    case CONDITION_PHASE:
    case CONDITION_AFTER:
      condition->texts = g_strsplit (value, "|", -1);
      condition->number = kind == CONDITION_IN || kind == CONDITION_AT ? rules->n_lines++
                                                                       : rules->n_names++;
      for (char **one = condition->texts; *one != NULL; one++)
        if ((*one)[0] == '\0' || strcmp (*one, ":") == 0)
          return false;
      return value[0] != '\0';
    default:
      return kind < N_CONDITIONS && value[0] == '\0';
    }
}

/* Returns: what is not understood, or NULL; g_free(). */
static char *
read_line (TesseraRules *rules, char *line)
{
  char *colon = strchr (line, ':');

  if (line[0] == '\0' || line[0] == '#')
    return NULL;
  if (colon == NULL || colon[1] == '\0')
    return g_strdup ("a rule is CATEGORY: CONDITION, CONDITION ...");
  *colon = '\0';
  size_t category = find_word (names, TESSERA_UNKNOWN_BEFORE, g_strchomp (line));
  if (category >= TESSERA_UNKNOWN_BEFORE)
    return g_strdup_printf ("there is no category \"%s\"", line);
  const Rule rule = { (TesseraCategory) category,
                      g_array_new (FALSE, FALSE, sizeof (Condition)) };
  g_array_set_clear_func (rule.conditions, clear_condition);
  g_array_append_val (rules->rules, rule);
  g_auto (GStrv) texts = g_strsplit (colon + 1, ",", -1);
  for (char **text = texts; *text != NULL; text++)
    {
      Condition condition;
      bool is_good = read_condition (rules, g_strstrip (*text), &condition);

      g_array_append_val (rule.conditions, condition);
      if (!is_good)
        return g_strdup_printf ("the condition \"%s\" is not understood", *text);
    }
  return NULL;
}

static bool
read_text (TesseraRules *rules, const char *text, const char *name, TesseraError *error)
{
  g_auto (GStrv) lines = g_strsplit (text, "\n", -1);

  for (size_t i = 0; lines[i] != NULL; i++)
    {
      g_autofree char *fault = read_line (rules, g_strstrip (lines[i]));
      g_autofree char *shown = NULL;

      if (fault == NULL)
        continue;
      shown = g_malloc (TESSERA_ERROR_TEXT_BYTES);
      tessera_fail (error, TESSERA_BAD_INPUT,
                    "%s, line %zu: %s; docs/CATEGORIES.md has them all", name, i + 1,
                    tessera_show_text (fault, shown, TESSERA_ERROR_TEXT_BYTES / 2));
      return false;
    }
  return true;
}

TesseraRules *
tessera_rules_new (const char *text, const char *name, TesseraError *error)
{
  g_autoptr (TesseraRules) rules = g_new0 (TesseraRules, 1);

  rules->rules = g_array_new (FALSE, FALSE, sizeof (Rule));
  g_array_set_clear_func (rules->rules, clear_rule);
  return (text == NULL || read_text (rules, text, name, error)) &&
                 read_text (rules, categories_rules, "categories.rules", error)
             ? g_steal_pointer (&rules)
             : NULL;
}

void
tessera_rules_free (TesseraRules *rules)
{
  if (rules != NULL)
    g_array_unref (rules->rules);
  g_free (rules);
}

/* ---- Facts ---- */

/* The part of a step that a phase is; PART_STEP: none of the three. */
static Part
part_of_name (const char *name)
{
  static const struct
  {
    const char *word;
    Part part;
  } words[] = {
    { "backward", PART_BACKWARD },   { "bwd", PART_BACKWARD },
    { "recompute", PART_BACKWARD },  { "optim", PART_OPTIMIZER },
    { "zero_grad", PART_OPTIMIZER }, { "clip_grad", PART_OPTIMIZER },
    { "forward", PART_FORWARD },     { "fwd", PART_FORWARD },
    { "loss", PART_FORWARD },        { "eval", PART_FORWARD },
    { "valid", PART_FORWARD },       { "generat", PART_FORWARD },
    { "scor", PART_FORWARD },        { "rollout", PART_FORWARD },
  };

  for (size_t i = 0; i < G_N_ELEMENTS (words); i++)
    if (strcasestr (name, words[i].word) != NULL)
      return words[i].part;
  return PART_STEP;
}

typedef struct
{
  const TesseraTrace *trace;
  const TesseraBlocks *blocks;
  const TesseraStructure *structure;
  const TesseraRules *rules;
  uint8_t *part_of_phase; /* its own, or that of the phase around it */
  uint32_t *end_of_phase; /* of that one */
  GArray *parts;          /* uint32_t: phases that are a part of a step, by begin */
  uint8_t *frame_says;    /* [n_frames][n_lines]: 0 not asked yet */
  GPtrArray **possible;   /* [n_stacks + 1][N_PARTS] rules, NULL: not asked yet */
  GHashTable **names;     /* [n_names] of a name: whether it is one, + 1 */
  const TesseraOrigins *origins;
  const uint32_t *tensors; /* (nullable) by block */
  GHashTable *sizes;       /* of parameters, state, gradients that are told: uint64_t */
  GHashTable *states;      /* uint64_t to States of that size */
  bool has_sizes, is_divided;
} Work;

/* Blocks of optimizer state of one size, so far. */
typedef struct
{
  GSequence *died; /* events, ascending: where those go that may be there */
  gint most;       /* of them at once */
} States;

static gint
compare_events (gconstpointer a, gconstpointer b, gpointer user)
{
  const guint x = GPOINTER_TO_UINT (a), y = GPOINTER_TO_UINT (b);

  return (x > y) - (x < y);
}

static void
states_free (gpointer data)
{
  g_sequence_free (((States *) data)->died);
  g_free (data);
}

/* How many are there when @block is born. */
static gint
states_count (States *states, const TesseraBlock *block)
{
  for (GSequenceIter *first = g_sequence_get_begin_iter (states->died);
       !g_sequence_iter_is_end (first) &&
       GPOINTER_TO_UINT (g_sequence_get (first)) <= block->born_index;
       first = g_sequence_get_begin_iter (states->died))
    g_sequence_remove (first);
  return g_sequence_get_length (states->died);
}

static void
states_add (const Work *work, const TesseraBlock *block)
{
  States *states = g_hash_table_lookup (work->states, &block->size_bytes);

  if (states == NULL)
    {
      states = g_new (States, 1);
      *states = (States){ .died = g_sequence_new (NULL) };
      g_hash_table_insert (work->states, (gpointer) &block->size_bytes, states);
    }
  states->most = MAX (states->most, states_count (states, block) + 1);
  g_sequence_insert_sorted (states->died, GUINT_TO_POINTER (block->died_index),
                            compare_events, NULL);
}

/* Whether fewer than once are there: beside all of them, a block is a copy of weights. */
static bool
is_missing (const Work *work, const TesseraBlock *block)
{
  States *states = g_hash_table_lookup (work->states, &block->size_bytes);

  return states != NULL && states_count (states, block) < states->most;
}

static void
find_parts (Work *work)
{
  const TesseraStructure *structure = work->structure;

  work->part_of_phase = g_new (uint8_t, structure->n_phases + 1);
  work->end_of_phase = g_new (uint32_t, structure->n_phases + 1);
  work->parts = g_array_new (FALSE, FALSE, sizeof (uint32_t));
  for (uint32_t i = 0; i < structure->n_phases; i++)
    {
      const TesseraPhase *phase = &structure->phases[i];
      Part part = part_of_name (tessera_phase_name (work->trace, phase));
      bool is_inside = part == PART_STEP && phase->parent < i;

      work->part_of_phase[i] =
          is_inside ? work->part_of_phase[phase->parent] : (uint8_t) part;
      work->end_of_phase[i] =
          is_inside ? work->end_of_phase[phase->parent] : phase->end_index;
      work->is_divided |= part == PART_FORWARD || part == PART_BACKWARD;
      if (part != PART_STEP)
        g_array_append_val (work->parts, i);
    }
}

/* Whether @frame is one of the alternatives, "FILE:FUNCTION". */
static bool
is_line (const TesseraTrace *trace, const TesseraFrame *frame, char *const *texts)
{
  const char *file = tessera_trace_string (trace, frame->file);
  const char *name = tessera_trace_string (trace, frame->name);
  const char *dot = strrchr (name, '.');

  for (; *texts != NULL; texts++)
    {
      const char *colon = strchr (*texts, ':');
      const size_t n_file = colon != NULL ? (size_t) (colon - *texts) : strlen (*texts);

      if (n_file > 0 && memmem (file, strlen (file), *texts, n_file) == NULL)
        continue;
      if (colon == NULL || (strstr (colon + 1, "::") != NULL
                                ? strstr (name, colon + 1) != NULL
                                : strcmp (dot != NULL ? dot + 1 : name, colon + 1) == 0))
        return true;
    }
  return false;
}

/* PyTorch's own layers: a wrapper around a model of nothing else is in their stacks, too. */
static bool
is_of_module (const TesseraTrace *trace, uint32_t frame)
{
  return strstr (tessera_trace_string (trace, trace->frames[frame].file),
                 "torch/nn/modules/") != NULL;
}

/* What was asked before is known: 1 no, 2 yes. */
static bool
is_frame (const Work *work, const Condition *condition, uint32_t frame)
{
  uint8_t *known = &work->frame_says[frame * work->rules->n_lines + condition->number];

  if (*known == 0)
    *known = 1 + is_line (work->trace, &work->trace->frames[frame], condition->texts);
  return *known == 2;
}

/* Whether the stack has such a line; CONDITION_AT: up to the program's own, or a model's. */
static bool
has_line (const Work *work, const Condition *condition, uint32_t stack)
{
  const TesseraTrace *trace = work->trace;

  if (stack >= trace->n_stacks)
    return false;
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const uint32_t frame = trace->stack_frames[i];

      if (is_frame (work, condition, frame))
        return true;
      if (condition->kind == CONDITION_AT &&
          (tessera_frame_is_model (trace, frame) || is_of_module (trace, frame)))
        return false;
    }
  return false;
}

/* Whether @condition holds, so far as stack and part decide. */
static bool
may_hold (const Work *work, const Condition *condition, uint32_t stack, Part part)
{
  switch (condition->kind)
    {
    case CONDITION_IN:
    case CONDITION_AT:
      return has_line (work, condition, stack);
    case CONDITION_BORN:
      return part == condition->number;
    case CONDITION_SILENT:
      return work->trace->n_tensors == 0;
    case CONDITION_DIVIDED:
      return work->is_divided;
    case CONDITION_UNDIVIDED:
      return !work->is_divided;
    default:
      return true;
    }
}

/* The rules that may hold for a block of @stack that is born in @part: a few of some
 * sixty, and a step's stacks are asked about in every step. */
static const GPtrArray *
find_possible (const Work *work, uint32_t stack, Part part)
{
  const size_t row = MIN (stack, work->trace->n_stacks);
  GPtrArray **possible = &work->possible[row * N_PARTS + part];

  if (*possible != NULL)
    return *possible;
  *possible = g_ptr_array_new ();
  for (guint r = 0; r < work->rules->rules->len; r++)
    {
      Rule *rule = &g_array_index (work->rules->rules, Rule, r);
      guint c = 0;

      while (
          c < rule->conditions->len &&
          may_hold (work, &g_array_index (rule->conditions, Condition, c), stack, part))
        c++;
      if (c == rule->conditions->len)
        g_ptr_array_add (*possible, rule);
    }
  return *possible;
}

static bool
is_kept (const TesseraStructure *structure, const TesseraBlock *block, uint32_t n_events)
{
  const uint32_t was_there = (block->flags & TESSERA_AT_START) != 0;
  size_t low = 0, high = structure->n_steps;

  if (structure->n_steps == 0)
    return block->died_index >= n_events;
  while (low < high)
    {
      size_t middle = (low + high) / 2;

      if (structure->steps[middle].begin_index + was_there > block->born_index)
        high = middle;
      else
        low = middle + 1;
    }
  /* The first batch is there before the first step as well. */
  if (low == 0 && structure->n_steps > 1)
    low = 1;
  return low < structure->n_steps && structure->steps[low].end_index <= block->died_index;
}

/* How many of the parts began before @block. */
static guint
count_parts_before (const Work *work, const TesseraBlock *block)
{
  guint low = 0, high = work->parts->len;

  while (low < high)
    {
      const guint middle = (low + high) / 2;
      const uint32_t phase = g_array_index (work->parts, uint32_t, middle);

      if (work->structure->phases[phase].begin_index < block->born_index)
        low = middle + 1;
      else
        high = middle;
    }
  return low;
}

/* Whether @block is alive all through one of the next such parts. Micro-batches make it a few
 * steps at most. */
static bool
spans (const Work *work, const TesseraBlock *block, Part part)
{
  for (guint i = count_parts_before (work, block); i < work->parts->len; i++)
    {
      const uint32_t place = g_array_index (work->parts, uint32_t, i);
      const TesseraPhase *phase = &work->structure->phases[place];

      if (phase->begin_index >= block->died_index)
        return false;
      if (work->part_of_phase[place] == part)
        return phase->end_index <= block->died_index;
    }
  return false;
}

static Facts
find_facts (const Work *work, size_t index)
{
  const TesseraStructure *structure = work->structure;
  const TesseraBlock *block = &work->blocks->blocks[index];
  const uint32_t n_events = work->blocks->n_events;
  Facts facts = {
    .part = PART_STEP,
    .part_end = TESSERA_NONE,
    .tensor = work->tensors != NULL && work->tensors[index] != TESSERA_NONE
                  ? work->trace->tensors[work->tensors[index]].kind
                  : 0,
  };
  const bool is_failed = (block->flags & TESSERA_FAILED) != 0;
  const bool is_between_steps = is_kept (structure, block, n_events);

  if (block->flags & (TESSERA_AT_START | TESSERA_UNKNOWN_START))
    facts.part = PART_START;
  else if (block->born_phase < structure->n_phases &&
           work->part_of_phase[block->born_phase] != PART_STEP)
    {
      facts.part = (Part) work->part_of_phase[block->born_phase];
      facts.part_end = work->end_of_phase[block->born_phase];
    }
  else if (structure->n_steps == 0 || block->born_index < structure->steps[0].begin_index)
    facts.part = PART_SETUP;
  facts.died = block->died_phase < structure->n_phases
                   ? (Part) work->part_of_phase[block->died_phase]
                   : PART_STEP;
  facts.holds[CONDITION_KEPT] = is_between_steps;
  facts.holds[CONDITION_SHORT] = !is_between_steps;
  facts.holds[CONDITION_PASSES] = block->died_index > facts.part_end && !is_failed;
  facts.holds[CONDITION_OPEN] = block->died_index >= n_events || is_failed;
  return facts;
}

/* Whether @name is one of the condition's; asked once for each name. */
static bool
is_any (const Work *work, const Condition *condition, const char *name)
{
  GHashTable *asked = work->names[condition->number];
  guint known = GPOINTER_TO_UINT (g_hash_table_lookup (asked, name));

  if (known == 0)
    {
      known = 1;
      for (char **text = condition->texts; *text != NULL && known == 1; text++)
        known += g_pattern_match_simple (*text, name);
      g_hash_table_insert (asked, (gpointer) name, GUINT_TO_POINTER (known));
    }
  return known > 1;
}

static bool
is_in_phase (const Work *work, uint32_t phase, const Condition *condition)
{
  const TesseraStructure *structure = work->structure;

  for (; phase < structure->n_phases; phase = structure->phases[phase].parent)
    if (is_any (work, condition,
                tessera_phase_name (work->trace, &structure->phases[phase])))
      return true;
  return false;
}

/* Whether the last part that began before @block is one of the condition's. */
static bool
is_after (const Work *work, const TesseraBlock *block, const Condition *condition)
{
  const guint n = count_parts_before (work, block);

  if (n == 0)
    return false;
  const uint32_t phase = g_array_index (work->parts, uint32_t, n - 1);
  return is_any (work, condition,
                 tessera_phase_name (work->trace, &work->structure->phases[phase]));
}

/* Whether the next block was asked for further down in the same function. */
static bool
is_continued (const Work *work, size_t index)
{
  const TesseraTrace *trace = work->trace;
  const uint32_t *stacks = work->origins->stacks;

  if (index + 1 >= work->blocks->n_blocks || stacks[index] >= trace->n_stacks ||
      stacks[index + 1] >= trace->n_stacks)
    return false;
  const uint32_t begin = trace->stack_begin[stacks[index]];
  const uint32_t next = trace->stack_begin[stacks[index + 1]];
  const uint32_t n = MIN (trace->stack_begin[stacks[index] + 1] - begin,
                          trace->stack_begin[stacks[index + 1] + 1] - next);
  uint32_t i = 0;
  while (i < n && trace->stack_frames[begin + i] == trace->stack_frames[next + i])
    i++;
  if (i == n)
    return false;
  const TesseraFrame *here = &trace->frames[trace->stack_frames[begin + i]];
  const TesseraFrame *there = &trace->frames[trace->stack_frames[next + i]];
  return here->file == there->file && here->name == there->name &&
         here->line < there->line;
}

/* Whether @condition of a rule that may hold does. */
static bool
holds (const Work *work, const Condition *condition, size_t index, const Facts *facts)
{
  const TesseraBlock *block = &work->blocks->blocks[index];
  const uint32_t *modules = work->origins->modules;

  switch (condition->kind)
    {
    case CONDITION_TENSOR:
      return facts->tensor == condition->number;
    case CONDITION_DIED:
      return facts->died == condition->number;
    case CONDITION_SPANS:
      return spans (work, block, (Part) condition->number);
    case CONDITION_AFTER:
      return is_after (work, block, condition);
    case CONDITION_IN:
    case CONDITION_AT:
    case CONDITION_BORN:
    case CONDITION_SILENT:
    case CONDITION_DIVIDED:
    case CONDITION_UNDIVIDED:
      return true;
    case CONDITION_MODULE:
      return modules != NULL && modules[index] != TESSERA_NONE &&
             is_any (work, condition, tessera_trace_string (work->trace, modules[index]));
    case CONDITION_PHASE:
      return is_in_phase (work, block->born_phase, condition);
    case CONDITION_MISSING:
      return is_missing (work, block);
    case CONDITION_SIZED:
      return !work->has_sizes || g_hash_table_contains (work->sizes, &block->size_bytes);
    case CONDITION_CONTINUED:
      return is_continued (work, index);
    case CONDITION_SIZE:
      return block->size_bytes == condition->number;
    default:
      return facts->holds[condition->kind];
    }
}

static TesseraCategory
decide (const Work *work, size_t index)
{
  const Facts facts = find_facts (work, index);
  const GPtrArray *possible =
      find_possible (work, work->origins->stacks[index], facts.part);

  for (guint r = 0; r < possible->len; r++)
    {
      const Rule *rule = g_ptr_array_index (possible, r);
      guint c = 0;

      while (c < rule->conditions->len &&
             holds (work, &g_array_index (rule->conditions, Condition, c), index, &facts))
        c++;
      if (c == rule->conditions->len)
        return rule->category;
    }
  if (facts.part == PART_START)
    return TESSERA_UNKNOWN_BEFORE;
  return work->origins->stacks[index] == TESSERA_NONE && !work->is_divided
             ? TESSERA_UNKNOWN_NO_STACK
             : TESSERA_UNKNOWN;
}

uint32_t *
tessera_find_tensors (const TesseraTrace *trace, const TesseraBlocks *blocks)
{
  g_autoptr (GHashTable) at = g_hash_table_new (g_int64_hash, g_int64_equal);
  uint32_t event = 0;

  if (trace->n_tensors == 0)
    return NULL;
  uint32_t *tensors = g_new (uint32_t, blocks->n_blocks + 1);
  for (size_t i = 0; i < blocks->n_blocks; i++)
    {
      tensors[i] = TESSERA_NONE;
      if (blocks->blocks[i].flags & TESSERA_AT_START)
        g_hash_table_replace (at, &blocks->blocks[i].addr, &blocks->blocks[i]);
    }
  for (size_t i = 0; i < trace->n_tensors; i++)
    {
      const TesseraTensor *tensor = &trace->tensors[i];

      for (; event < tensor->event_index && event < blocks->n_events; event++)
        {
          const uint32_t block = blocks->block_of_event[event];

          if (trace->events[event].action == TESSERA_ALLOC && block != TESSERA_NONE)
            g_hash_table_replace (at, &blocks->blocks[block].addr,
                                  &blocks->blocks[block]);
        }
      const TesseraBlock *block = g_hash_table_lookup (at, &tensor->addr);
      /* What was said first stays: a view of a parameter is one. */
      if (block != NULL && block->died_index >= tensor->event_index &&
          tensors[block - blocks->blocks] == TESSERA_NONE)
        tensors[block - blocks->blocks] = (uint32_t) i;
    }
  return tensors;
}

/* By the sizes that are known so far. Returns: whether some are parameters. */
static bool
decide_all (Work *work, uint8_t *categories)
{
  g_autoptr (GHashTable) states =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, NULL, states_free);
  bool has_parameters = false;

  work->states = states;
  for (size_t i = 0; i < work->blocks->n_blocks; i++)
    {
      const TesseraBlock *block = &work->blocks->blocks[i];

      categories[i] = (uint8_t) decide (work, i);
      has_parameters = has_parameters || categories[i] == TESSERA_PARAMETER;
      if (categories[i] == TESSERA_OPTIMIZER_STATE)
        states_add (work, block);
      /* Those that are there before the recording began are most often parameters. A sparse
       * gradient is as large as no parameter is. */
      const bool is_said = work->tensors != NULL && work->tensors[i] != TESSERA_NONE;
      if (categories[i] == TESSERA_PARAMETER ||
          categories[i] == TESSERA_OPTIMIZER_STATE ||
          categories[i] == TESSERA_UNKNOWN_BEFORE ||
          (categories[i] == TESSERA_GRADIENT && is_said))
        g_hash_table_add (work->sizes, (gpointer) &block->size_bytes);
    }
  return has_parameters;
}

uint8_t *
tessera_categorize (const TesseraTrace *trace,
                    const TesseraBlocks *blocks,
                    const TesseraStructure *structure,
                    const uint32_t *tensors,
                    const TesseraOrigins *origins,
                    const TesseraRules *rules)
{
  g_autoptr (GHashTable) sizes = g_hash_table_new (g_int64_hash, g_int64_equal);
  Work work = { trace,
                blocks,
                structure,
                rules,
                .origins = origins,
                .tensors = tensors,
                .sizes = sizes,
                .has_sizes = true };
  uint8_t *categories = g_new (uint8_t, blocks->n_blocks + 1);

  work.names = g_new (GHashTable *, rules->n_names + 1);
  for (size_t i = 0; i < rules->n_names; i++)
    work.names[i] = g_hash_table_new (NULL, NULL);
  work.frame_says = g_new0 (uint8_t, trace->n_frames * rules->n_lines + 1);
  work.possible = g_new0 (GPtrArray *, (trace->n_stacks + 1) * N_PARTS);
  find_parts (&work);
  /* Which sizes parameters and their optimizers' state have is known only once they are. Where no
   * parameter is known, any may be as large as one. */
  work.has_sizes = decide_all (&work, categories);
  decide_all (&work, categories);
  g_free (work.part_of_phase);
  g_free (work.end_of_phase);
  g_free (work.frame_says);
  for (size_t i = 0; i < (trace->n_stacks + 1) * N_PARTS; i++)
    g_clear_pointer (&work.possible[i], g_ptr_array_unref);
  g_free (work.possible);
  g_array_unref (work.parts);
  for (size_t i = 0; i < rules->n_names; i++)
    g_hash_table_unref (work.names[i]);
  g_free (work.names);
  return categories;
}
