/*
 * Edits from JSON and to JSON: docs/FORMAT.md. What is not understood is refused: a
 * misspelt rule must not select everything.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <json-glib/json-glib.h>
#include <string.h>

#include "edits/private.h"

/* An array of objects of objects of arrays, and some. */
#define MOST_LEVELS 8
/* Numbers take a hundred bytes each while they are read. A million blocks pinned with their
 * distances are two million. */
#define MOST_VALUES 4000000

#define KIND(name) (1U << TESSERA_EDIT_##name)
/* What a table has columns for: only where an object has all. */
#define LABEL 1U
#define AT(member)                                                                       \
  G_STRUCT_OFFSET (TesseraEdit, member), sizeof ((TesseraEdit *) NULL)->member
/* Numbers that are always written. */
#define ALWAYS .most = G_MAXINT64, .none = G_MAXUINT64

/* An edit's, in the order in which they are read and written. */
static const EditsField members_of_edit[] = {
  { "kind", NULL, EDITS_NAME, AT (kind), .names = EDITS_KINDS, .is_needed = TRUE },
  { "name", NULL, EDITS_TEXT, AT (name), .kinds = LABEL, .is_needed = TRUE },
  { "created_s", NULL, EDITS_NUMBER, AT (created_s), ALWAYS, .kinds = LABEL },
  { "is_undone", NULL, EDITS_BOOLEAN, AT (is_undone), .kinds = LABEL },
  { "what", NULL, EDITS_SELECTOR, AT (what), .kinds = ~(LABEL | KIND (CAP)) },
  { "group", NULL, EDITS_TEXT, AT (group),
    .kinds = KIND (MERGE) | KIND (GROUP) | KIND (MOVE), .is_needed = TRUE },
  { "by", NULL, EDITS_NAME, AT (by), .names = EDITS_SPLITS, .kinds = KIND (SPLIT),
    .is_needed = TRUE },
  { "at_index", NULL, EDITS_NUMBER, AT (at), .most = TESSERA_NONE - 1,
    .none = G_MAXUINT64, .kinds = KIND (SPLIT) },
  { "offset_bytes", NULL, EDITS_NUMBER, AT (at), ALWAYS, .kinds = KIND (PIN),
    .is_needed = TRUE },
  { "shape", NULL, EDITS_SHAPE, AT (shape), .kinds = KIND (PIN) },
  { "with", NULL, EDITS_SELECTOR, AT (with), .kinds = KIND (APART) },
  { "class", NULL, EDITS_NAME, AT (lifetime_class), .names = EDITS_CLASSES,
    .kinds = KIND (CLASS), .is_needed = TRUE },
  { "pool_bytes", NULL, EDITS_NUMBER, AT (at), ALWAYS, .kinds = KIND (CAP),
    .is_needed = TRUE },
};

/* Reading. Readers return FALSE after a complaint; names of members (@key) go into its
 * sentence. */

typedef struct
{
  const char *where; /* which edit of which file, for sentences */
  TesseraError *error;
} Place;

/* Returns: FALSE */
static gboolean G_GNUC_PRINTF (2, 3)
    complain (const Place *place, const char *format, ...)
{
  va_list arguments;
  g_autofree char *finding = NULL;

  va_start (arguments, format);
  finding = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  tessera_fail (place->error, TESSERA_BAD_INPUT, "%s, %s", place->where, finding);
  return FALSE;
}

static gboolean
read_number (const Place *place,
             const char *key,
             JsonNode *node,
             guint64 most,
             guint64 *out_number)
{
  gint64 number;

  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_INT64)
    return complain (place, "\"%s\" is not a whole number", key);
  number = json_node_get_int (node);
  if (number < 0 || (guint64) number > most)
    return complain (place,
                     "\"%s\" is %" G_GINT64_FORMAT
                     ": it has to be from 0 to %" G_GUINT64_FORMAT,
                     key, number, most);
  *out_number = (guint64) number;
  return TRUE;
}

/* One line of at most 1,024 bytes. */
static gboolean
take_text (const Place *place, const char *key, const char *text, char **out_text)
{
  const char *fault = edits_find_fault_of_text (text);

  if (fault != NULL)
    return complain (place, "\"%s\" %s", key, fault);
  *out_text = g_strdup (text);
  return TRUE;
}

static gboolean
read_text (const Place *place, const char *key, JsonNode *node, char **out_text)
{
  if (!JSON_NODE_HOLDS_VALUE (node) || json_node_get_value_type (node) != G_TYPE_STRING)
    return complain (place, "\"%s\" is not a text", key);
  return take_text (place, key, json_node_get_string (node), out_text);
}

static gboolean
read_name (const Place *place,
           const char *key,
           JsonNode *node,
           EditsNames names,
           guint *out_number)
{
  g_autofree char *name = NULL;

  if (!read_text (place, key, node, &name))
    return FALSE;
  *out_number = edits_find_number (names, name);
  return *out_number != 0 ||
         complain (place, "\"%s\" is \"%s\", which is unknown", key, name);
}

/* Owned by @node; NULL after a complaint. */
static JsonArray *
read_array (const Place *place, const char *key, JsonNode *node)
{
  if (JSON_NODE_HOLDS_ARRAY (node))
    return json_node_get_array (node);
  complain (place, "\"%s\" is not an array", key);
  return NULL;
}

static gboolean
read_blocks (const Place *place, JsonNode *node, TesseraSelector *selector)
{
  JsonArray *array = read_array (place, "blocks", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;
  guint64 block = 0;

  if (array == NULL)
    return FALSE;
  selector->blocks = g_new0 (uint32_t, n + 1);
  selector->n_blocks = n;
  for (guint i = 0; i < n; i++)
    {
      if (!read_number (place, "blocks", json_array_get_element (array, i),
                        TESSERA_NONE - 1, &block))
        return FALSE;
      if (i > 0 && block <= selector->blocks[i - 1])
        return complain (place, "\"blocks\" do not ascend");
      selector->blocks[i] = (uint32_t) block;
    }
  return TRUE;
}

/* Digits behind @before, where @text begins with that; FALSE: it does not. */
static gboolean
take_number (const char **text, const char *before, guint64 most, guint64 *out_number)
{
  const char *at = *text + strlen (before);
  char *end;

  if (!g_str_has_prefix (*text, before) || !g_ascii_isdigit (*at))
    return FALSE;
  *out_number = g_ascii_strtoull (at, &end, 10);
  *text = end;
  return *out_number <= most;
}

/* "1048576 #3 step 0 phase forward" */
static gboolean
read_block_name (const Place *place, JsonNode *node, TesseraBlockName *out_name)
{
  guint64 size_bytes, ordinal, step = TESSERA_NONE;
  g_autofree char *text = NULL;
  const char *at, *phase = NULL;

  if (!read_text (place, "names", node, &text))
    return FALSE;
  at = text;
  if (!take_number (&at, "", G_MAXINT64, &size_bytes) ||
      !take_number (&at, " #", TESSERA_NONE - 1, &ordinal))
    return complain (place, "\"names\" has \"%s\": it begins with bytes #ordinal", text);
  if (g_str_has_prefix (at, " step ") &&
      !take_number (&at, " step ", TESSERA_NONE - 1, &step))
    return complain (place, "\"names\" has \"%s\", whose step is no number", text);
  if (g_str_has_prefix (at, " phase "))
    phase = at + strlen (" phase ");
  else if (*at != '\0')
    return complain (place, "\"names\" has \"%s\": at its end is no phase", text);
  *out_name = (TesseraBlockName){ size_bytes, g_intern_string (phase), (uint32_t) step,
                                  (uint32_t) ordinal };
  return TRUE;
}

static gboolean
read_block_names (const Place *place, JsonNode *node, TesseraSelector *selector)
{
  JsonArray *array = read_array (place, "names", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  selector->names = tessera_block_names_new (n);
  for (guint i = 0; i < n; i++)
    if (!read_block_name (place, json_array_get_element (array, i),
                          &selector->names->names[i]))
      return FALSE;
  return TRUE;
}

static gboolean
read_shape (const Place *place, JsonNode *node, TesseraEdit *edit)
{
  JsonArray *array = read_array (place, "shape", node);
  guint n = array != NULL ? json_array_get_length (array) : 0;

  if (array == NULL)
    return FALSE;
  if (edit->what.blocks == NULL || edit->what.n_blocks != n)
    return complain (place,
                     "\"shape\" does not give one distance for each of \"blocks\"");
  edit->shape = g_new0 (uint64_t, n + 1);
  for (guint i = 0; i < n; i++)
    if (!read_number (place, "shape", json_array_get_element (array, i), G_MAXINT64,
                      &edit->shape[i]))
      return FALSE;
  return TRUE;
}

static gboolean read_selector (const Place *place,
                               const char *of,
                               JsonNode *node,
                               TesseraSelector *selector);

/* @owner: the selector or edit that @field is of. */
static gboolean
read_field (const Place *place, const EditsField *field, JsonNode *node, gpointer owner)
{
  guint64 number = 0;
  guint named = 0;

  switch (field->type)
    {
    case EDITS_TEXT:
      return read_text (place, field->key, node, edits_get_text (field, owner));
    case EDITS_NUMBER:
      if (!read_number (place, field->key, node, field->most, &number))
        return FALSE;
      break;
    case EDITS_NAME:
      if (!read_name (place, field->key, node, field->names, &named))
        return FALSE;
      number = named;
      break;
    case EDITS_BOOLEAN:
      if (!JSON_NODE_HOLDS_VALUE (node) ||
          json_node_get_value_type (node) != G_TYPE_BOOLEAN)
        return complain (place, "\"%s\" is neither true nor false", field->key);
      number = json_node_get_boolean (node);
      break;
    case EDITS_SELECTOR:
      return read_selector (place, field->key, node,
                            G_STRUCT_MEMBER_P (owner, field->offset));
    case EDITS_BLOCKS:
      return read_blocks (place, node, owner);
    case EDITS_BLOCK_NAMES:
      return read_block_names (place, node, owner);
    case EDITS_SHAPE:
      return read_shape (place, node, owner);
    }
  edits_set_number (field, owner, number);
  return TRUE;
}

/* Whether edits of these kinds have the field. */
static gboolean
is_of (const EditsField *field, guint kinds)
{
  return field->kinds == 0 || (field->kinds & kinds) != 0;
}

static gboolean
is_known (const char *key, const EditsField *fields, gsize n_fields, guint kinds)
{
  for (gsize i = 0; i < n_fields; i++)
    if (is_of (&fields[i], kinds) && g_str_equal (fields[i].key, key))
      return TRUE;
  return FALSE;
}

/* @what: the @owner, for the sentence about members that it has not. */
static gboolean
read_fields (const Place *place,
             const char *what,
             JsonObject *object,
             const EditsField *fields,
             gsize n_fields,
             guint kinds,
             gpointer owner)
{
  g_autoptr (GList) keys = json_object_get_members (object);

  for (GList *at = keys; at != NULL; at = at->next)
    if (!is_known (at->data, fields, n_fields, kinds))
      return complain (place, "%s has no member \"%s\"", what, (const char *) at->data);
  for (const EditsField *field = fields; field < fields + n_fields; field++)
    {
      JsonNode *node = json_object_get_member (object, field->key);

      if (!is_of (field, kinds))
        continue;
      if (node == NULL && field->is_needed)
        return complain (place, "\"%s\" is missing", field->key);
      if (node != NULL && !read_field (place, field, node, owner))
        return FALSE;
    }
  return TRUE;
}

/* @of: the member that holds the selector, which has been initialized. */
static gboolean
read_selector (const Place *place,
               const char *of,
               JsonNode *node,
               TesseraSelector *selector)
{
  if (!JSON_NODE_HOLDS_OBJECT (node))
    return complain (place, "\"%s\" is not an object", of);
  if (!read_fields (place, "a selector", json_node_get_object (node), edits_fields,
                    EDITS_N_FIELDS, 0, selector))
    return FALSE;
  return selector->names == NULL ||
         (selector->blocks != NULL && selector->n_blocks == selector->names->n_names) ||
         complain (place, "\"names\" does not name each of \"blocks\"");
}

/* @is_rule: without what a table has columns for. */
static gboolean
read_members (const Place *place, JsonObject *object, gboolean is_rule, TesseraEdit *edit)
{
  JsonNode *node = json_object_get_member (object, "kind");
  g_autofree char *what = NULL;
  gboolean has_index = json_object_has_member (object, "at_index");
  guint kind = 0;

  if (node == NULL)
    return complain (place, "\"kind\" is missing");
  if (!read_name (place, "kind", node, EDITS_KINDS, &kind))
    return FALSE;
  what = g_strdup_printf ("an edit of kind %s", edits_get_name (EDITS_KINDS, kind));
  if (!read_fields (place, what, object, members_of_edit, G_N_ELEMENTS (members_of_edit),
                    1U << kind | (is_rule ? 0 : LABEL), edit))
    return FALSE;
  edit->has_with = json_object_has_member (object, "with");
  if (edit->by == TESSERA_SPLIT_AT && !has_index)
    return complain (place, "\"at_index\" is missing");
  if (edit->by != TESSERA_SPLIT_AT && has_index)
    return complain (place, "\"at_index\" goes with \"by\": \"at\" only");
  return edit->group == NULL || *edit->group != '\0' ||
         complain (place, "\"group\" is empty");
}

/* @row: what a table has in columns; NULL: the object has all. */
static TesseraStatus
read_edit (JsonNode *node,
           const TesseraStoredEdit *row,
           const char *where,
           TesseraHistory *history,
           TesseraError *error)
{
  const Place place = { where, error };
  TesseraEdit edit = { 0 };
  TesseraStatus status = TESSERA_BAD_INPUT;

  tessera_selector_init (&edit.what);
  tessera_selector_init (&edit.with);
  if (!JSON_NODE_HOLDS_OBJECT (node))
    complain (&place, "an edit is not an object");
  else if (read_members (&place, json_node_get_object (node), row != NULL, &edit) &&
           (row == NULL || take_text (&place, "name", row->name, &edit.name)))
    {
      if (row != NULL)
        {
          edit.created_s = row->created_s;
          edit.is_undone = row->is_undone;
        }
      status = edits_append (history, &edit, where, error);
    }
  tessera_edit_clear (&edit);
  return status;
}

/* Texts. */

/* What the parser takes beyond JSON is not let through to it: comments and assignments, in
 * which brackets would not count as they do here, and numbers of other bases. */
static gboolean
is_letter_of_json (const char *text, gsize at, gsize n_bytes)
{
  char c = text[at], next = at + 1 < n_bytes ? text[at + 1] : '\0';

  if (c == '0' && (at == 0 || !(g_ascii_isalnum (text[at - 1]) || text[at - 1] == '.')))
    return !g_ascii_isdigit (next) && (next | 0x20) != 'x';
  return g_ascii_isalnum (c) || (c != '\0' && strchr ("[]{}:,+-.\t\r\n ", c) != NULL);
}

const char *
edits_json_find_fault (const char *text, gsize n_bytes)
{
  gboolean is_in_text = FALSE;
  guint n_levels = 0, n_values = 0;

  if (n_bytes > EDITS_JSON_MOST_BYTES)
    return "is larger than 256 MiB";
  for (gsize i = 0; i < n_bytes; i++)
    {
      char c = text[i];

      if (c == '"')
        is_in_text = !is_in_text;
      else if (is_in_text)
        i += c == '\\';
      else if (!is_letter_of_json (text, i, n_bytes) ||
               ((c == '[' || c == '{') && ++n_levels > MOST_LEVELS))
        return "is not a list of edits in JSON, as tessera edits export writes it";
      else if ((c == ']' || c == '}') && n_levels > 0)
        n_levels--;
      else if (c == ',' && ++n_values >= MOST_VALUES)
        return "has more than 4 million values";
    }
  return NULL;
}

/* The parser takes the last of members that come twice, and says nothing. */
typedef struct
{
  guint n_members[MOST_LEVELS + 1]; /* so far of the objects that are open */
  guint level;
  char *repeated; /* "line 3, "what"": the first that came before; NULL: none */
} Members;

static void
open_object (JsonParser *parser, Members *members)
{
  members->n_members[++members->level] = 0;
}

static void
count_member (JsonParser *parser, JsonObject *object, char *key, Members *members)
{
  if (++members->n_members[members->level] > json_object_get_size (object) &&
      members->repeated == NULL)
    members->repeated = g_strdup_printf ("in line %u, \"%s\"",
                                         json_parser_get_current_line (parser), key);
}

static void
close_object (JsonParser *parser, JsonObject *object, Members *members)
{
  members->level--;
}

/* What would cost the parser more stack or memory than edits need is refused before.
 * NULL: failed. */
static JsonNode *
parse (const char *text, gssize length, const char *where, TesseraError *error)
{
  gsize n_bytes = length < 0 ? strlen (text) : (gsize) length;
  const char *fault = g_utf8_validate (text, (gssize) n_bytes, NULL)
                          ? edits_json_find_fault (text, n_bytes)
                          : "is not text in UTF-8";
  g_autoptr (JsonParser) parser = json_parser_new ();
  g_autoptr (GError) failure = NULL;
  g_autofree char *repeated = NULL;
  Members members = { 0 };
  JsonNode *root = NULL;

  g_signal_connect (parser, "object-start", G_CALLBACK (open_object), &members);
  g_signal_connect (parser, "object-member", G_CALLBACK (count_member), &members);
  g_signal_connect (parser, "object-end", G_CALLBACK (close_object), &members);
  if (fault != NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s %s", where, fault);
  else if (!json_parser_load_from_data (parser, text, (gssize) n_bytes, &failure))
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is not JSON: %s", where,
                  failure->message);
  else if (members.repeated != NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s, %s comes twice: leave one of both out",
                  where, members.repeated);
  else if ((root = json_parser_steal_root (parser)) == NULL)
    tessera_fail (error, TESSERA_BAD_INPUT, "%s is empty, not a list of edits in JSON",
                  where);
  repeated = members.repeated;
  return root;
}

TesseraStatus
edits_json_read_rule (const TesseraStoredEdit *row,
                      const char *where,
                      TesseraHistory *history,
                      TesseraError *error)
{
  g_autoptr (JsonNode) node = parse (row->rule, -1, where, error);

  return node != NULL ? read_edit (node, row, where, history, error) : TESSERA_BAD_INPUT;
}

TesseraHistory *
tessera_history_from_json (const char *text,
                           gssize length,
                           const char *name,
                           TesseraError *error)
{
  g_autoptr (TesseraHistory) history = tessera_history_new ();
  g_autoptr (JsonNode) root = parse (text, length, name, error);
  JsonArray *array;

  if (root == NULL)
    return NULL;
  if (!JSON_NODE_HOLDS_ARRAY (root))
    {
      tessera_fail (error, TESSERA_BAD_INPUT, "%s is not an array of edits", name);
      return NULL;
    }
  array = json_node_get_array (root);
  for (guint i = 0; i < json_array_get_length (array); i++)
    {
      g_autofree char *where = g_strdup_printf ("%s: edit %u", name, i + 1);

      if (read_edit (json_array_get_element (array, i), NULL, where, history, error) !=
          TESSERA_OK)
        return NULL;
    }
  return g_steal_pointer (&history);
}

/* Writing. */

static void
add_blocks (JsonObject *object, const TesseraSelector *selector)
{
  JsonArray *array = json_array_sized_new ((guint) selector->n_blocks);

  for (gsize i = 0; i < selector->n_blocks; i++)
    json_array_add_int_element (array, selector->blocks[i]);
  json_object_set_array_member (object, "blocks", array);
}

/* "1048576 #3 step 0 phase forward" of each of the blocks. Phases of a hostile trace may
 * be called what nobody could read back: then there are no names. */
static void
add_block_names (JsonObject *object, const TesseraBlockNames *names)
{
  g_autoptr (GString) text = g_string_new (NULL);
  g_autoptr (JsonArray) array = json_array_sized_new ((guint) names->n_names);

  for (gsize i = 0; i < names->n_names; i++)
    {
      const TesseraBlockName *name = &names->names[i];

      g_string_printf (text, "%" G_GUINT64_FORMAT " #%u", name->size_bytes,
                       name->ordinal);
      if (name->step != TESSERA_NONE)
        g_string_append_printf (text, " step %u", name->step);
      if (name->phase != NULL)
        g_string_append_printf (text, " phase %s", name->phase);
      if (edits_find_fault_of_text (text->str) != NULL)
        return;
      json_array_add_string_element (array, text->str);
    }
  json_object_set_array_member (object, "names", g_steal_pointer (&array));
}

static void
add_shape (JsonObject *object, const TesseraEdit *edit)
{
  JsonArray *array = json_array_sized_new ((guint) edit->what.n_blocks);

  for (gsize i = 0; i < edit->what.n_blocks; i++)
    json_array_add_int_element (array, (gint64) edit->shape[i]);
  json_object_set_array_member (object, "shape", array);
}

static JsonObject *
write_fields (const EditsField *fields, gsize n_fields, guint kinds, gconstpointer owner);

static void
add_field (JsonObject *object, const EditsField *field, gconstpointer owner)
{
  guint64 number = edits_get_number (field, owner);

  switch (field->type)
    {
    case EDITS_TEXT:
      json_object_set_string_member (object, field->key, *edits_get_text (field, owner));
      break;
    case EDITS_NUMBER:
      json_object_set_int_member (object, field->key, (gint64) number);
      break;
    case EDITS_NAME:
      json_object_set_string_member (object, field->key,
                                     edits_get_name (field->names, (guint) number));
      break;
    case EDITS_BOOLEAN:
      json_object_set_boolean_member (object, field->key, number != 0);
      break;
    case EDITS_SELECTOR:
      json_object_set_object_member (
          object, field->key,
          write_fields (edits_fields, EDITS_N_FIELDS, 0,
                        G_STRUCT_MEMBER_P (owner, field->offset)));
      break;
    case EDITS_BLOCKS:
      add_blocks (object, owner);
      break;
    case EDITS_BLOCK_NAMES:
      add_block_names (object, ((const TesseraSelector *) owner)->names);
      break;
    case EDITS_SHAPE:
      add_shape (object, owner);
    }
}

static JsonObject *
write_fields (const EditsField *fields, gsize n_fields, guint kinds, gconstpointer owner)
{
  JsonObject *object = json_object_new ();

  for (const EditsField *field = fields; field < fields + n_fields; field++)
    if (is_of (field, kinds) &&
        (field->type == EDITS_SELECTOR || edits_is_set (field, owner)))
      add_field (object, field, owner);
  return object;
}

static JsonNode *
write_edit (const TesseraEdit *edit, gboolean is_rule)
{
  JsonObject *object = write_fields (members_of_edit, G_N_ELEMENTS (members_of_edit),
                                     1U << edit->kind | (is_rule ? 0 : LABEL), edit);
  JsonNode *node = json_node_new (JSON_NODE_OBJECT);

  if (!edit->has_with)
    json_object_remove_member (object, "with");
  if (edit->by != TESSERA_SPLIT_AT)
    json_object_remove_member (object, "at_index");
  json_node_take_object (node, object);
  return node;
}

char *
edits_json_write_rule (const TesseraEdit *edit)
{
  g_autoptr (JsonNode) node = write_edit (edit, TRUE);

  return json_to_string (node, FALSE);
}

char *
tessera_history_to_json (const TesseraHistory *history)
{
  size_t n_edits;
  const TesseraEdit *edits = tessera_history_get (history, &n_edits);
  g_autoptr (JsonNode) node = json_node_new (JSON_NODE_ARRAY);
  JsonArray *array = json_array_new ();
  g_autofree char *text = NULL;

  for (size_t i = 0; i < n_edits; i++)
    json_array_add_element (array, write_edit (&edits[i], FALSE));
  json_node_take_array (node, array);
  text = json_to_string (node, TRUE);
  return g_strconcat (text, "\n", NULL);
}
