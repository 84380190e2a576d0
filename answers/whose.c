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
  g_autoptr (TesseraRules) rules =
      tessera_rules_new (text != NULL ? text : kept, name, error);

  if (rules == NULL)
    return TESSERA_BAD_INPUT;
  whose->tensors = tessera_find_tensors (whose->trace, whose->blocks);
  whose->origins = tessera_origins_new (whose->trace, whose->blocks, whose->structure);
  whose->categories = tessera_categorize (whose->trace, whose->blocks, whose->structure,
                                          whose->tensors, &whose->origins, rules);
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

const char *
tessera_find_instance (const char *path, size_t *out_n)
{
  if (strpbrk (path, " (") != NULL)
    return NULL;
  for (const char *part = path;; part += *out_n + 1)
    {
      *out_n = strcspn (part, ".");
      if (*out_n > 0 && strspn (part, "0123456789") == *out_n)
        return part;
      if (part[*out_n] == '\0')
        return NULL;
    }
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

/* An owner, and what of its path is below the module that it is listed in; NULL: nothing. */
typedef struct
{
  const TesseraOwner *owner;
  const char *rest;
} Path;

/* One module, or several that hold the same. */
typedef struct
{
  TesseraOwner row; /* of all of them; the name is the module's */
  GArray *paths;    /* Path: what is inside of one */
} Module;

static void
clear_module (gpointer data)
{
  Module *module = data;

  g_free (module->row.name);
  g_array_unref (module->paths);
}

static int
compare_modules (const void *a, const void *b)
{
  const TesseraOwner *x = &((const Module *) a)->row, *y = &((const Module *) b)->row;

  if (x->bytes == y->bytes && is_number (x->name) && is_number (y->name) &&
      strlen (x->name) != strlen (y->name))
    return strlen (x->name) < strlen (y->name) ? -1 : 1;
  return compare_owners (x, y);
}

/* Whether two modules hold the same, all the way down. */
static bool
are_equal (const Module *a, const Module *b)
{
  bool is_equal = a->paths->len == b->paths->len;

  for (guint i = 0; is_equal && i < a->paths->len; i++)
    {
      const Path *x = &g_array_index (a->paths, Path, i);
      const Path *y = &g_array_index (b->paths, Path, i);

      is_equal = g_strcmp0 (x->rest, y->rest) == 0 &&
                 x->owner->bytes == y->owner->bytes &&
                 x->owner->n_blocks == y->owner->n_blocks;
    }
  return is_equal;
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

/* Numbered modules that hold the same become one. */
static void
fold (GArray *modules)
{
  for (guint i = 0; i < modules->len; i++)
    {
      Module *first = &g_array_index (modules, Module, i);
      g_autoptr (GArray) numbers = g_array_new (FALSE, FALSE, sizeof (uint64_t));

      for (guint j = i; is_number (first->row.name) && j < modules->len; j++)
        {
          const Module *next = &g_array_index (modules, Module, j);
          const uint64_t number = g_ascii_strtoull (next->row.name, NULL, 10);

          if (!is_number (next->row.name) || !are_equal (first, next))
            break;
          g_array_append_val (numbers, number);
        }
      if (numbers->len < 2)
        continue;
      first->row.bytes *= numbers->len;
      first->row.n_blocks *= numbers->len;
      first->row.n_times *= numbers->len;
      g_free (first->row.name);
      first->row.name = tessera_list_numbers (numbers, ",");
      g_array_remove_range (modules, i + 1, numbers->len - 1);
    }
  g_array_sort (modules, compare_modules);
}

/* The modules that @paths begin with, which are there @n_times: array of Module. Only paths have
 * parts: "(no module)" and "modeling_llama.py forward" are names. */
static GArray *
list_modules (const GArray *paths, uint32_t n_times)
{
  g_autoptr (GHashTable) places = g_hash_table_new (g_str_hash, g_str_equal);
  GArray *modules = g_array_new (FALSE, FALSE, sizeof (Module));

  g_array_set_clear_func (modules, clear_module);
  for (guint i = 0; i < paths->len; i++)
    {
      const Path *path = &g_array_index (paths, Path, i);
      gpointer place;

      if (path->rest == NULL)
        continue;
      const size_t n = strcspn (path->rest, strpbrk (path->rest, " (") ? "" : ".");
      const Path below = { path->owner,
                           path->rest[n] != '\0' ? path->rest + n + 1 : NULL };
      g_autofree char *name = g_strndup (path->rest, n);
      if (!g_hash_table_lookup_extended (places, name, NULL, &place))
        {
          const Module fresh = { .row = { .name = g_steal_pointer (&name),
                                          .n_times = n_times,
                                          .stack = path->owner->stack },
                                 .paths = g_array_new (FALSE, FALSE, sizeof (Path)) };

          place = GUINT_TO_POINTER (modules->len);
          g_hash_table_insert (places, fresh.row.name, place);
          g_array_append_val (modules, fresh);
        }
      Module *module = &g_array_index (modules, Module, GPOINTER_TO_UINT (place));
      module->row.bytes += n_times * path->owner->bytes;
      module->row.n_blocks += n_times * path->owner->n_blocks;
      g_array_append_val (module->paths, below);
    }
  g_array_sort (modules, compare_modules);
  fold (modules);
  return modules;
}

/* A module that holds nothing but one other is told in one row with that. @before: its path
 * up to there. */
static void
list_module (const Module *module, const char *before, uint32_t depth, GArray *owners)
{
  g_autoptr (GArray) inside = list_modules (module->paths, module->row.n_times);
  const Module *first = &g_array_index (inside, Module, 0);
  g_autofree char *path = g_strconcat (before, module->row.name, ".", NULL);
  TesseraOwner owner = module->row, itself = module->row;

  if (inside->len == 1 && first->row.bytes == owner.bytes)
    {
      list_module (first, path, depth, owners);
      return;
    }
  owner.name = g_strconcat (before, module->row.name, NULL);
  owner.depth = depth;
  g_array_append_val (owners, owner);
  for (guint i = 0; i < inside->len; i++)
    {
      list_module (&first[i], "", depth + 1, owners);
      itself.bytes -= first[i].row.bytes;
      itself.n_blocks -= first[i].row.n_blocks;
    }
  if (inside->len == 0 || itself.n_blocks == 0)
    return;
  itself.name = g_strdup ("(itself)");
  itself.depth = depth + 1;
  g_array_append_val (owners, itself);
}

static GArray *
build_tree (GArray *owners)
{
  g_autoptr (GArray) paths = g_array_new (FALSE, FALSE, sizeof (Path));
  GArray *tree = g_array_new (FALSE, FALSE, sizeof (TesseraOwner));

  g_array_set_clear_func (tree, clear_owner);
  for (guint i = 0; i < owners->len; i++)
    {
      const TesseraOwner *owner = &g_array_index (owners, TesseraOwner, i);
      const Path path = { owner, owner->name };
      g_array_append_val (paths, path);
    }
  g_autoptr (GArray) modules = list_modules (paths, 1);
  for (guint i = 0; i < modules->len; i++)
    list_module (&g_array_index (modules, Module, i), "", 0, tree);
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
