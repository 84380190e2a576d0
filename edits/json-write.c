/*
 * Edits to JSON: docs/FORMAT.md.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/json.h"

#include "edits/names.h"
#include "edits/texts.h"
#include "planner/edits/block-names.h"

static void
add_number (JsonBuilder *builder, const char *key, guint64 number)
{
  json_builder_set_member_name (builder, key);
  json_builder_add_int_value (builder, (gint64) number);
}

/* NULL: left out. */
static void
add_text (JsonBuilder *builder, const char *key, const char *text)
{
  if (text == NULL)
    return;
  json_builder_set_member_name (builder, key);
  json_builder_add_string_value (builder, text);
}

static void
add_blocks (JsonBuilder *builder, const TesseraSelector *selector)
{
  if (selector->blocks == NULL)
    return;
  json_builder_set_member_name (builder, "blocks");
  json_builder_begin_array (builder);
  for (gsize i = 0; i < selector->n_blocks; i++)
    json_builder_add_int_value (builder, selector->blocks[i]);
  json_builder_end_array (builder);
}

/* Phases of a hostile trace may be called what nobody could read back. */
static gboolean
are_kept (const TesseraBlockNames *names)
{
  for (gsize i = 0; i < names->n_phases; i++)
    if (edits_find_fault_of_text (names->phases[i]) != NULL)
      return FALSE;
  return TRUE;
}

/* "1048576 #3 step 0 phase forward" of each of the blocks. */
static void
add_block_names (JsonBuilder *builder, const TesseraBlockNames *names)
{
  g_autoptr (GString) text = g_string_new (NULL);

  if (names == NULL || !are_kept (names))
    return;
  json_builder_set_member_name (builder, "names");
  json_builder_begin_array (builder);
  for (gsize i = 0; i < names->n_names; i++)
    {
      const TesseraBlockName *name = &names->names[i];

      g_string_printf (text, "%" G_GUINT64_FORMAT " #%u", name->size_bytes,
                       name->ordinal);
      if (name->step != TESSERA_NONE)
        g_string_append_printf (text, " step %u", name->step);
      if (name->phase != TESSERA_NONE)
        g_string_append_printf (text, " phase %s", names->phases[name->phase]);
      json_builder_add_string_value (builder, text->str);
    }
  json_builder_end_array (builder);
}

static void
add_selector (JsonBuilder *builder, const char *key, const TesseraSelector *selector)
{
  const struct
  {
    const char *key;
    guint64 number;
  } limits[] = {
    { "least_bytes", selector->least_bytes },
    { "most_bytes", selector->most_bytes },
    { "least_life", selector->least_life },
    { "most_life", selector->most_life },
  };

  json_builder_set_member_name (builder, key);
  json_builder_begin_object (builder);
  add_blocks (builder, selector);
  add_block_names (builder, selector->names);
  for (gsize i = 0; i < G_N_ELEMENTS (limits); i++)
    if (limits[i].number > 0)
      add_number (builder, limits[i].key, limits[i].number);
  add_text (builder, "phase", selector->phase);
  add_text (builder, "died_phase", selector->died_phase);
  add_text (builder, "module", selector->module);
  add_text (builder, "source", selector->source);
  add_text (builder, "group", selector->group);
  if (selector->step >= 0)
    add_number (builder, "step", (guint64) selector->step);
  if (selector->stream >= 0)
    add_number (builder, "stream", (guint64) selector->stream);
  if (selector->ordinal != TESSERA_NONE)
    add_number (builder, "ordinal", selector->ordinal);
  if (selector->alive_at != TESSERA_NONE)
    add_number (builder, "alive_at", selector->alive_at);
  add_text (builder, "class", edits_class_name (selector->lifetime_class));
  json_builder_end_object (builder);
}

static void
add_shape (JsonBuilder *builder, const TesseraEdit *edit)
{
  if (edit->shape == NULL)
    return;
  json_builder_set_member_name (builder, "shape");
  json_builder_begin_array (builder);
  for (gsize i = 0; i < edit->what.n_blocks; i++)
    json_builder_add_int_value (builder, (gint64) edit->shape[i]);
  json_builder_end_array (builder);
}

/* What only some kinds have. */
static void
add_rest (JsonBuilder *builder, const TesseraEdit *edit)
{
  switch (edit->kind)
    {
    case TESSERA_EDIT_MERGE:
    case TESSERA_EDIT_GROUP:
    case TESSERA_EDIT_MOVE:
      add_text (builder, "group", edit->group);
      break;
    case TESSERA_EDIT_SPLIT:
      add_text (builder, "by", edits_split_name (edit->by));
      if (edit->by == TESSERA_SPLIT_AT)
        add_number (builder, "at_index", edit->at);
      break;
    case TESSERA_EDIT_PIN:
      add_number (builder, "offset_bytes", edit->at);
      add_shape (builder, edit);
      break;
    case TESSERA_EDIT_APART:
      if (edit->has_with)
        add_selector (builder, "with", &edit->with);
      break;
    case TESSERA_EDIT_CLASS:
      add_text (builder, "class", edits_class_name (edit->lifetime_class));
      break;
    case TESSERA_EDIT_CAP:
      add_number (builder, "pool_bytes", edit->at);
      break;
    case TESSERA_EDIT_TOGETHER:
    case TESSERA_EDIT_DYNAMIC:
      break;
    }
}

static JsonNode *
write_edit (const TesseraEdit *edit, gboolean is_row)
{
  g_autoptr (JsonBuilder) builder = json_builder_new ();

  json_builder_begin_object (builder);
  add_text (builder, "kind", edits_kind_name (edit->kind));
  if (!is_row)
    {
      add_text (builder, "name", edit->name);
      add_number (builder, "created_s", (guint64) edit->created_s);
      if (edit->is_undone)
        {
          json_builder_set_member_name (builder, "is_undone");
          json_builder_add_boolean_value (builder, TRUE);
        }
    }
  if (edit->kind != TESSERA_EDIT_CAP)
    add_selector (builder, "what", &edit->what);
  add_rest (builder, edit);
  json_builder_end_object (builder);
  return json_builder_get_root (builder);
}

static char *
to_text (JsonNode *node, gboolean is_pretty)
{
  g_autoptr (JsonGenerator) generator = json_generator_new ();

  json_generator_set_pretty (generator, is_pretty);
  json_generator_set_indent (generator, 2);
  json_generator_set_root (generator, node);
  return json_generator_to_data (generator, NULL);
}

char *
edits_json_write_row (const TesseraEdit *edit)
{
  g_autoptr (JsonNode) node = write_edit (edit, TRUE);

  return to_text (node, FALSE);
}

char *
tessera_history_to_json (const TesseraHistory *history)
{
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (history, &n_edits);
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_ARRAY);
  g_autoptr (JsonArray) array = json_array_new ();
  g_autofree char *text = NULL;

  for (size_t i = 0; i < n_edits; i++)
    json_array_add_element (array, write_edit (&edits[i], FALSE));
  json_node_set_array (node, array);
  text = to_text (node, TRUE);
  return g_strconcat (text, "\n", NULL);
}
