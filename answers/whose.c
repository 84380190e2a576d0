/* See whose.h. SPDX-License-Identifier: Apache-2.0 */
#include "answers/whose.h"

#include <inttypes.h>
#include <string.h>

#include "planner/modules.h"
#include "simulator/verdict.h"

static const char *const by_names[TESSERA_N_BYS] = { "category", "module", "line",
                                                     "stack",    "phase",  "step",
                                                     "use" };

const char *
tessera_by_name (TesseraBy by)
{
  return (unsigned) by < TESSERA_N_BYS ? by_names[by] : "";
}

TesseraStatus
tessera_whose_find (TesseraWhose *whose,
                    const char *text,
                    const char *name,
                    TesseraError *error)
{
  const char *kept = tessera_trace_get_meta (whose->trace, TESSERA_META_RULES);
  TesseraRules *rules = tessera_rules_new (text != NULL ? text : kept, name, error);

  if (rules == NULL)
    return TESSERA_BAD_INPUT;
  whose->tensors = tessera_find_tensors (whose->trace, whose->blocks);
  whose->origins = tessera_origins_new (whose->trace, whose->blocks, whose->structure);
  whose->categories = tessera_categorize (whose->trace, whose->blocks, whose->structure,
                                          whose->tensors, &whose->origins, rules);
  tessera_rules_free (rules);
  return TESSERA_OK;
}

void
tessera_whose_clear (TesseraWhose *whose)
{
  g_clear_pointer (&whose->categories, g_free);
  g_clear_pointer (&whose->tensors, g_free);
  tessera_origins_clear (&whose->origins);
  whose->origins = (TesseraOrigins){ NULL, NULL };
}

/* ---- Names ---- */

static char *
name_stack (const TesseraTrace *trace, uint32_t stack)
{
  GString *text = g_string_new (NULL);

  if (stack < trace->n_stacks)
    for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
      {
        g_autofree char *line = tessera_name_frame (trace, trace->stack_frames[i]);

        g_string_append_printf (text, "%s%s", text->len > 0 ? " < " : "", line);
      }
  if (text->len == 0)
    g_string_append (text, "(no stack)");
  return g_string_free (text, FALSE);
}

/* Of the tensor that the run said is in the block: "exp_avg of layers.3.mlp.weight" is of
 * layers.3.mlp. */
static char *
module_of_tensor (const char *name)
{
  const char *of = strstr (name, " of ");
  const char *path = of != NULL ? of + strlen (" of ") : name;
  const char *dot = strrchr (path, '.');

  return dot != NULL ? g_strndup (path, (gsize) (dot - path)) : g_strdup (path);
}

static uint32_t
module_string (const TesseraWhose *whose, size_t index)
{
  return whose->origins.modules != NULL ? whose->origins.modules[index] : TESSERA_NONE;
}

/* What the module of a block is known by, most certain first: keys above the stacks' are
 * tensors', then strings'. */
static uint64_t
key_module (const TesseraWhose *whose, size_t index)
{
  const TesseraBlock *block = &whose->blocks->blocks[index];
  const uint64_t tensors = (uint64_t) 2 << 32, strings = (uint64_t) 1 << 32;

  if (whose->tensors != NULL && whose->tensors[index] != TESSERA_NONE)
    return tensors | whose->trace->tensors[whose->tensors[index]].name;
  if (whose->origins.modules != NULL && (block->flags & TESSERA_AT_START) == 0)
    return strings | whose->origins.modules[index];
  return whose->origins.stacks[index];
}

/* PyTorch's threads of the backward pass have no lines: what is known there is the phase,
 * and the module. */
static uint64_t
key_line (const TesseraWhose *whose, size_t index)
{
  const TesseraBlock *block = &whose->blocks->blocks[index];
  const uint32_t line =
      tessera_line_of_stack (whose->trace, whose->origins.stacks[index]);
  uint64_t key = (uint64_t) 1 << 63;

  if (line != TESSERA_NONE)
    return line;
  if (block->flags & TESSERA_AT_START)
    return key;
  key |= (uint64_t) (block->born_phase + 1) << 32;
  return key | module_string (whose, index);
}

static bool
is_before_steps (const TesseraWhose *whose, const TesseraBlock *block)
{
  return whose->structure->n_steps > 0 &&
         block->born_index < whose->structure->steps[0].begin_index;
}

/* Blocks of one key are one row, whose name follows from any of them. */
static uint64_t
key_of (const TesseraWhose *whose, TesseraBy by, size_t index)
{
  const TesseraBlock *block = &whose->blocks->blocks[index];

  switch (by)
    {
    case TESSERA_BY_CATEGORY:
      return whose->categories[index];
    case TESSERA_BY_MODULE:
      return key_module (whose, index);
    case TESSERA_BY_LINE:
      return key_line (whose, index);
    case TESSERA_BY_USE:
      return key_line (whose, index) ^ (uint64_t) whose->categories[index] << 56;
    case TESSERA_BY_STACK:
      return whose->origins.stacks[index];
    case TESSERA_BY_PHASE:
      return (uint64_t) block->born_phase << 1 | (block->flags & TESSERA_AT_START);
    default:
      return (uint64_t) block->step << 2 |
             (uint64_t) is_before_steps (whose, block) << 1 |
             (block->flags & TESSERA_AT_START);
    }
}

static char *
name_module (const TesseraWhose *whose, size_t index)
{
  const TesseraTrace *trace = whose->trace;
  const uint64_t key = key_module (whose, index);
  const char *name = NULL;

  if (key >> 32 == 2)
    return module_of_tensor (tessera_trace_string (trace, (uint32_t) key));
  if (key >> 32 == 1)
    name = (uint32_t) key != TESSERA_NONE ? tessera_trace_string (trace, (uint32_t) key)
                                          : NULL;
  else if (tessera_line_of_stack (trace, (uint32_t) key) != TESSERA_NONE)
    {
      const TesseraFrame *frame =
          &trace->frames[tessera_line_of_stack (trace, (uint32_t) key)];
      g_autofree char *file =
          g_path_get_basename (tessera_trace_string (trace, frame->file));

      return g_strdup_printf ("%s %s", file, tessera_trace_string (trace, frame->name));
    }
  return g_strdup (name != NULL ? name : "(no module)");
}

static bool
is_number (const char *name)
{
  return name[0] != '\0' && strspn (name, "0123456789") == strlen (name);
}

char *
tessera_name_alike (const char *name)
{
  g_auto (GStrv) parts = g_strsplit (name, strpbrk (name, " (") == NULL ? "." : "\n", -1);

  for (char **part = parts; *part != NULL; part++)
    if (is_number (*part))
      {
        g_free (*part);
        *part = g_strdup ("*");
      }
  return g_strjoinv (".", parts);
}

static char *
name_line (const TesseraWhose *whose, size_t index)
{
  const TesseraTrace *trace = whose->trace;
  const TesseraStructure *structure = whose->structure;
  const TesseraBlock *block = &whose->blocks->blocks[index];
  const uint32_t stack = whose->origins.stacks[index];
  const char *phase = NULL, *module = NULL;

  if (tessera_line_of_stack (trace, stack) != TESSERA_NONE)
    return tessera_name_line (trace, stack);
  if (block->flags & TESSERA_AT_START)
    return g_strdup ("(before the recording)");
  if (block->born_phase < structure->n_phases)
    phase = tessera_phase_name (trace, &structure->phases[block->born_phase]);
  if (module_string (whose, index) != TESSERA_NONE)
    module = tessera_trace_string (trace, module_string (whose, index));
  if (phase == NULL && module == NULL)
    return g_strdup ("(no stack)");
  g_autofree char *modules = tessera_name_alike (module != NULL ? module : "");
  return g_strdup_printf ("(%s%s%s)", phase != NULL ? phase : "",
                          phase != NULL && module != NULL ? " of " : "", modules);
}

static char *
name_use (const TesseraWhose *whose, size_t index)
{
  g_autofree char *line = name_line (whose, index);

  return g_strdup_printf ("%s, %s", line,
                          tessera_category_name (whose->categories[index]));
}

static char *
name_step (const TesseraWhose *whose, const TesseraBlock *block)
{
  if (block->flags & TESSERA_AT_START)
    return g_strdup ("(before the recording)");
  if (block->step < whose->structure->n_steps)
    return g_strdup_printf ("step %" PRId64, whose->structure->steps[block->step].number);
  return g_strdup (is_before_steps (whose, block) ? "(before the first step)"
                                                  : "(between or after steps)");
}

char *
tessera_owner_of (const TesseraWhose *whose, TesseraBy by, size_t index)
{
  const TesseraStructure *structure = whose->structure;
  const TesseraBlock *block = &whose->blocks->blocks[index];

  switch (by)
    {
    case TESSERA_BY_CATEGORY:
      return g_strdup (tessera_category_name (whose->categories[index]));
    case TESSERA_BY_MODULE:
      return name_module (whose, index);
    case TESSERA_BY_LINE:
      return name_line (whose, index);
    case TESSERA_BY_USE:
      return name_use (whose, index);
    case TESSERA_BY_STACK:
      return name_stack (whose->trace, whose->origins.stacks[index]);
    case TESSERA_BY_PHASE:
      if (block->born_phase < structure->n_phases)
        return g_strdup (
            tessera_phase_name (whose->trace, &structure->phases[block->born_phase]));
      return g_strdup (block->flags & TESSERA_AT_START ? "(before the recording)"
                                                       : TESSERA_OUTSIDE_OF_PHASES);
    default:
      return name_step (whose, block);
    }
}

/* ---- Rows ---- */

static void
clear_owner (gpointer data)
{
  g_free (((TesseraOwner *) data)->name);
}

static int
compare_owners (const void *a, const void *b)
{
  const TesseraOwner *x = a, *y = b;

  if (x->bytes != y->bytes)
    return x->bytes > y->bytes ? -1 : 1;
  return strcmp (x->name, y->name);
}

/* The row of blocks with @key: different keys may have one name. @rows: by key; @numbers: by name. */
static uint32_t
find_row (const TesseraWhose *whose,
          TesseraBy by,
          size_t index,
          GHashTable *rows,
          GHashTable *numbers,
          GPtrArray *names)
{
  const uint64_t key = key_of (whose, by, index);
  gpointer row;

  if (g_hash_table_lookup_extended (rows, &key, NULL, &row))
    return GPOINTER_TO_UINT (row);
  char *name = tessera_owner_of (whose, by, index);
  if (g_hash_table_lookup_extended (numbers, name, NULL, &row))
    g_free (name);
  else
    {
      row = GUINT_TO_POINTER (names->len);
      g_hash_table_insert (numbers, name, row);
      g_ptr_array_add (names, name);
    }
  g_hash_table_insert (rows, g_memdup2 (&key, sizeof key), row);
  return GPOINTER_TO_UINT (row);
}

uint32_t *
tessera_owner_rows (const TesseraWhose *whose,
                    TesseraBy by,
                    uint32_t event_index,
                    GPtrArray *names)
{
  g_autoptr (GHashTable) rows =
      g_hash_table_new_full (g_int64_hash, g_int64_equal, g_free, NULL);
  g_autoptr (GHashTable) numbers = g_hash_table_new (g_str_hash, g_str_equal);
  uint32_t *row_of_block = g_new (uint32_t, whose->blocks->n_blocks + 1);

  for (size_t i = 0; i < whose->blocks->n_blocks; i++)
    row_of_block[i] =
        event_index == TESSERA_NONE ||
                tessera_is_live (whose->blocks, whose->layout, i, event_index)
            ? find_row (whose, by, i, rows, numbers, names)
            : TESSERA_NONE;
  return row_of_block;
}

GArray *
tessera_owners (const TesseraWhose *whose,
                TesseraBy by,
                const TesseraCategory *only,
                uint32_t event_index)
{
  g_autoptr (GPtrArray) names = g_ptr_array_new ();
  g_autofree uint32_t *rows = tessera_owner_rows (whose, by, event_index, names);
  GArray *owners = g_array_new (FALSE, TRUE, sizeof (TesseraOwner));

  g_array_set_clear_func (owners, clear_owner);
  g_array_set_size (owners, names->len);
  for (size_t i = 0; i < whose->blocks->n_blocks; i++)
    {
      const uint64_t bytes = whose->blocks->blocks[i].size_bytes;

      if (rows[i] == TESSERA_NONE || (only != NULL && whose->categories[i] != *only))
        continue;
      TesseraOwner *owner = &g_array_index (owners, TesseraOwner, rows[i]);
      owner->bytes += bytes;
      owner->n_blocks++;
      if (bytes < owner->largest_bytes)
        continue;
      owner->largest_bytes = bytes;
      owner->stack = whose->origins.stacks[i];
    }
  for (guint i = names->len; i-- > 0;)
    {
      TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);

      owner->name = names->pdata[i];
      owner->n_times = 1;
      if (owner->n_blocks == 0)
        g_array_remove_index_fast (owners, i);
    }
  g_array_sort (owners, compare_owners);
  return owners;
}

/* ---- Modules as a tree ---- */

typedef struct
{
  TesseraOwner row;
  GPtrArray *inside; /* Node */
} Node;

static void
node_free (gpointer data)
{
  Node *node = data;

  g_ptr_array_unref (node->inside);
  g_free (node->row.name);
  g_free (node);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC (Node, node_free)

static Node *
node_new (const char *name)
{
  Node *node = g_new0 (Node, 1);

  node->row = (TesseraOwner){ .name = g_strdup (name), .n_times = 1 };
  node->inside = g_ptr_array_new_with_free_func (node_free);
  return node;
}

static void
add_to (Node *node, const TesseraOwner *owner)
{
  if (node->row.n_blocks == 0)
    node->row.stack = owner->stack;
  node->row.bytes += owner->bytes;
  node->row.n_blocks += owner->n_blocks;
}

/* @nodes: by path, all there are. */
static void
add_path (GHashTable *nodes, Node *root, const TesseraOwner *owner)
{
  /* Only paths have parts: "(no module)" and "modeling_llama.py forward" are names. */
  const bool is_path = strpbrk (owner->name, " (") == NULL;
  g_auto (GStrv) parts = g_strsplit (owner->name, is_path ? "." : "\n", -1);
  g_autoptr (GString) path = g_string_new (NULL);
  Node *node = root;

  add_to (root, owner);
  for (char **part = parts; *part != NULL; part++)
    {
      g_string_append_printf (path, "%s.", *part);
      Node *next = g_hash_table_lookup (nodes, path->str);
      if (next == NULL)
        {
          next = node_new (*part);
          g_ptr_array_add (node->inside, next);
          g_hash_table_insert (nodes, g_strdup (path->str), next);
        }
      add_to (next, owner);
      node = next;
    }
}

/* Whether two numbered modules hold the same, all the way down. */
static bool
are_equal (const Node *a, const Node *b)
{
  if (a->row.bytes != b->row.bytes || a->row.n_blocks != b->row.n_blocks ||
      a->row.n_times != b->row.n_times || a->inside->len != b->inside->len)
    return false;
  for (guint i = 0; i < a->inside->len; i++)
    {
      const Node *x = g_ptr_array_index (a->inside, i);
      const Node *y = g_ptr_array_index (b->inside, i);

      if (strcmp (x->row.name, y->row.name) != 0 || !are_equal (x, y))
        return false;
    }
  return true;
}

static int
compare_nodes (const void *a, const void *b)
{
  const TesseraOwner *x = &(*(Node *const *) a)->row, *y = &(*(Node *const *) b)->row;

  if (x->bytes == y->bytes && is_number (x->name) && is_number (y->name) &&
      strlen (x->name) != strlen (y->name))
    return strlen (x->name) < strlen (y->name) ? -1 : 1;
  return compare_owners (x, y);
}

static void
sum_up (Node *node, const Node *other)
{
  node->row.bytes += other->row.bytes;
  node->row.n_blocks += other->row.n_blocks;
  node->row.n_times += other->row.n_times;
  for (guint i = 0; i < node->inside->len; i++)
    sum_up (g_ptr_array_index (node->inside, i), g_ptr_array_index (other->inside, i));
}

char *
tessera_list_numbers (const GArray *numbers, const char *separator)
{
  GString *text = g_string_new (NULL);

  for (guint i = 0; i < numbers->len;)
    {
      const uint64_t first = g_array_index (numbers, uint64_t, i);
      guint n = 1;

      while (i + n < numbers->len &&
             g_array_index (numbers, uint64_t, i + n) == first + n)
        n++;
      g_string_append_printf (text, "%s%" PRIu64, text->len > 0 ? separator : "", first);
      if (n > 1)
        g_string_append_printf (text, "-%" PRIu64, first + n - 1);
      i += n;
    }
  return g_string_free (text, FALSE);
}

/* Numbered modules that hold the same become one, from the innermost outward. */
static void
fold (Node *node)
{
  for (guint i = 0; i < node->inside->len; i++)
    fold (g_ptr_array_index (node->inside, i));
  g_ptr_array_sort (node->inside, compare_nodes);
  for (guint i = 0; i < node->inside->len; i++)
    {
      Node *first = g_ptr_array_index (node->inside, i);
      g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (uint64_t));

      for (guint j = i; is_number (first->row.name) && j < node->inside->len; j++)
        {
          const Node *next = g_ptr_array_index (node->inside, j);
          const uint64_t number = g_ascii_strtoull (next->row.name, NULL, 10);

          if (!is_number (next->row.name) || !are_equal (first, next))
            break;
          g_array_append_val (numbers, number);
        }
      if (numbers->len < 2)
        continue;
      for (guint j = 1; j < numbers->len; j++)
        sum_up (first, g_ptr_array_index (node->inside, i + j));
      g_ptr_array_remove_range (node->inside, i + 1, numbers->len - 1);
      g_free (first->row.name);
      first->row.name = tessera_list_numbers (numbers, ",");
    }
  g_ptr_array_sort (node->inside, compare_nodes);
}

/* What a module with others inside has of its own. */
static void
list_itself (const Node *node, uint32_t depth, GArray *owners)
{
  TesseraOwner owner = node->row;

  for (guint i = 0; i < node->inside->len; i++)
    {
      owner.bytes -= ((const Node *) g_ptr_array_index (node->inside, i))->row.bytes;
      owner.n_blocks -=
          ((const Node *) g_ptr_array_index (node->inside, i))->row.n_blocks;
    }
  if (node->inside->len == 0 || owner.n_blocks == 0)
    return;
  owner.name = g_strdup ("(itself)");
  owner.depth = depth;
  g_array_append_val (owners, owner);
}

/* A module that holds nothing but one other is told in one row with that. @before: its path
 * up to there. */
static void
list_node (const Node *node, const char *before, uint32_t depth, GArray *owners)
{
  const Node *only = node->inside->len == 1 ? g_ptr_array_index (node->inside, 0) : NULL;
  g_autofree char *path = g_strconcat (before, node->row.name, ".", NULL);
  TesseraOwner owner = node->row;

  if (only != NULL && only->row.bytes == node->row.bytes)
    {
      list_node (only, path, depth, owners);
      return;
    }
  owner.name = g_strconcat (before, node->row.name, NULL);
  owner.depth = depth;
  g_array_append_val (owners, owner);
  for (guint i = 0; i < node->inside->len; i++)
    list_node (g_ptr_array_index (node->inside, i), "", depth + 1, owners);
  list_itself (node, depth + 1, owners);
}

static GArray *
build_tree (GArray *owners)
{
  g_autoptr (GHashTable) nodes =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr (Node) root = node_new ("");
  GArray *tree = g_array_new (FALSE, FALSE, sizeof (TesseraOwner));

  g_array_set_clear_func (tree, clear_owner);
  for (guint i = 0; i < owners->len; i++)
    add_path (nodes, root, &g_array_index (owners, TesseraOwner, i));
  fold (root);
  for (guint i = 0; i < root->inside->len; i++)
    list_node (g_ptr_array_index (root->inside, i), "", 0, tree);
  g_array_unref (owners);
  return tree;
}

GArray *
tessera_whose (const TesseraWhose *whose, TesseraBy by, uint32_t event_index)
{
  GArray *owners = tessera_owners (whose, by, NULL, event_index);
  return by == TESSERA_BY_MODULE ? build_tree (owners) : owners;
}

uint64_t
tessera_live_bytes (const TesseraLayout *layout, uint32_t event_index)
{
  return event_index < layout->n_events ? layout->curves.live_bytes[event_index] : 0;
}

uint32_t
tessera_fullest (const TesseraLayout *layout, uint32_t begin_index, uint32_t end_index)
{
  uint32_t at = begin_index;

  for (uint32_t i = begin_index; i < end_index && i < layout->n_events; i++)
    if (layout->curves.live_bytes[i] > layout->curves.live_bytes[at])
      at = i;
  return at;
}

uint64_t
tessera_highest_sum (const int64_t *changes, uint32_t n_events, uint32_t *out_at)
{
  int64_t sum = 0, most = 0;
  uint32_t at = TESSERA_NONE;

  for (uint32_t i = 0; i < n_events; i++)
    if ((sum += changes[i]) > most)
      {
        most = sum;
        at = i;
      }
  if (out_at != NULL)
    *out_at = at;
  return (uint64_t) most;
}

char *
tessera_folded_stacks (const TesseraWhose *whose, uint32_t event_index)
{
  const TesseraTrace *trace = whose->trace;
  GString *text = g_string_new (NULL);
  g_autofree uint64_t *bytes = g_new0 (uint64_t, trace->n_stacks + 1);

  for (size_t i = 0; i < whose->blocks->n_blocks; i++)
    if (tessera_is_live (whose->blocks, whose->layout, i, event_index))
      bytes[MIN (whose->origins.stacks[i], trace->n_stacks)] +=
          whose->blocks->blocks[i].size_bytes;
  for (size_t s = 0; s < trace->n_stacks; s++)
    {
      if (bytes[s] == 0)
        continue;
      for (uint32_t i = trace->stack_begin[s + 1]; i > trace->stack_begin[s]; i--)
        {
          g_autofree char *line = tessera_name_frame (trace, trace->stack_frames[i - 1]);

          /* What parts frames and lines of the format is in no name. */
          g_strdelimit (line, ";\n\r", '_');
          g_string_append_printf (text, "%s%s", line,
                                  i - 1 > trace->stack_begin[s] ? ";" : "");
        }
      g_string_append_printf (text, " %" PRIu64 "\n", bytes[s]);
    }
  if (bytes[trace->n_stacks] > 0)
    g_string_append_printf (text, "(no stack) %" PRIu64 "\n", bytes[trace->n_stacks]);
  return g_string_free (text, FALSE);
}
