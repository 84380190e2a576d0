/*
 * Selectors and edits as text: edits.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "edits/private.h"

#include <string.h>

#include "db/size-text.h"

#define BLANKS " \t\r\n\f\v"
#define MOST_BLOCKS (10 * 1000 * 1000) /* by hand: what asks for memory is a text */

typedef struct
{
  const char *text;
  gboolean takes_less, takes_equal, takes_more; /* than its number */
} Operator;

/* Longer ones first. */
static const Operator operators[] = { { "<=", TRUE, TRUE, FALSE },
                                      { ">=", FALSE, TRUE, TRUE },
                                      { "<", TRUE, FALSE, FALSE },
                                      { ">", FALSE, FALSE, TRUE },
                                      { "=", FALSE, TRUE, FALSE } };

typedef struct
{
  char *key;
  const Operator *operator;
  char *value;
} Condition;

/* Returns: FALSE, with the sentence. */
static gboolean G_GNUC_PRINTF (2, 3) complain (char **out_error, const char *format, ...)
{
  va_list arguments;

  va_start (arguments, format);
  *out_error = g_strdup_vprintf (format, arguments);
  va_end (arguments);
  return FALSE;
}

static gboolean
parse_u32 (const char *text, guint64 *out_number)
{
  return g_ascii_string_to_unsigned (text, 10, 0, TESSERA_NONE - 1, out_number, NULL);
}

/* Whether the next word is the key of a condition, its operator perhaps behind blanks. */
static gboolean
begins_condition (const char *at)
{
  at += strspn (at, BLANKS);
  at += strcspn (at, "<>=" BLANKS);
  at += strspn (at, BLANKS);
  return *at != '\0' && strchr ("<>=", *at) != NULL;
}

/* Cuts one condition off *text. FALSE: nothing is left, or *out_error says why. */
static gboolean
take_condition (const char **text, Condition *condition, char **out_error)
{
  const char *at = *text;
  GString *value;
  gsize n_key, n_blanks;
  gboolean is_quoted = FALSE;

  while (g_ascii_isspace (*at))
    at++;
  if (*at == '\0')
    return FALSE;
  n_key = strcspn (at, "<>=" BLANKS);
  n_blanks = strspn (at + n_key, BLANKS);
  for (gsize i = 0; i < G_N_ELEMENTS (operators); i++)
    if (g_str_has_prefix (at + n_key + n_blanks, operators[i].text))
      {
        condition->operator= & operators[i];
        condition->key = g_strndup (at, n_key);
        at += n_key + n_blanks + strlen (operators[i].text);
        break;
      }
  if (condition->key == NULL)
    return complain (out_error,
                     "\"%.*s\" is no condition: write size>=1MiB, phase=backward",
                     (int) MIN (n_key, 60), at);
  if (!begins_condition (at))
    at += strspn (at, BLANKS);
  value = g_string_new (NULL);
  for (; *at != '\0' && (is_quoted || !g_ascii_isspace (*at)); at++)
    if (*at == '"')
      is_quoted = !is_quoted;
    else
      {
        if (*at == '\\' && is_quoted && at[1] != '\0')
          at++;
        g_string_append_c (value, *at);
      }
  /* "1.5 GiB" */
  if (g_str_equal (condition->key, "size") && g_ascii_isdigit (at[-1]) &&
      !begins_condition (at))
    for (at += strspn (at, BLANKS); *at != '\0' && !g_ascii_isspace (*at); at++)
      g_string_append_c (value, *at);
  condition->value = g_string_free (value, FALSE);
  *text = at;
  if (is_quoted)
    return complain (out_error, "the text of %s=\" has no end: a \" is missing",
                     condition->key);
  return TRUE;
}

/* Narrows [*least, *most] (most 0: no limit). FALSE: nothing is left. */
static gboolean
narrow (const Operator *operator, guint64 number, guint64 *least, guint64 *most)
{
  guint64 from = number + !operator->takes_equal, to = number - !operator->takes_equal;

  if (!operator->takes_less)
    *least = MAX (*least, from);
  if (operator->takes_more)
    return *most == 0 || *least <= *most;
  /* 0 would mean that there is no limit. */
  if (number == 0 || to == 0)
    return FALSE;
  *most = *most > 0 ? MIN (*most, to) : to;
  return *least <= *most;
}

static gboolean
apply_size (const Condition *condition, TesseraSelector *selector, char **out_error)
{
  guint64 bytes;

  if (!tessera_parse_bytes (condition->value, &bytes))
    return complain (out_error, "size takes bytes, as in size>=1.5MiB, not \"%s\"",
                     condition->value);
  return narrow (condition->operator, bytes, &selector->least_bytes,
                 &selector->most_bytes) ||
         complain (out_error, "no block is of such a size: size and \"%s\"",
                   condition->value);
}

static gboolean
apply_life (const Condition *condition, TesseraSelector *selector, char **out_error)
{
  guint64 number, least = selector->least_life, most = selector->most_life;

  if (!parse_u32 (condition->value, &number) || number > G_MAXUINT32 - 2)
    return complain (out_error,
                     "life takes a number of events, as in life<100, not \"%s\"",
                     condition->value);
  if (!narrow (condition->operator, number, &least, &most))
    return complain (out_error, "no block lives so: life and \"%s\"", condition->value);
  selector->least_life = (guint32) least;
  selector->most_life = (guint32) most;
  return TRUE;
}

static int
compare_blocks (gconstpointer a, gconstpointer b)
{
  const guint32 *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

/* "3,7-9" */
static gboolean
parse_ranges (const char *text, GArray *blocks, char **out_error)
{
  g_auto (GStrv) parts = g_strsplit (text, ",", -1);

  for (gsize i = 0; parts[i] != NULL; i++)
    {
      g_auto (GStrv) ends = g_strsplit (parts[i], "-", 2);
      guint64 first, last;

      if (ends[0] == NULL || !parse_u32 (ends[0], &first) ||
          !parse_u32 (ends[1] != NULL ? ends[1] : ends[0], &last) || last < first)
        return complain (
            out_error, "blocks takes numbers, as in blocks=3,7-9, not \"%s\"", parts[i]);
      if (last - first >= MOST_BLOCKS - blocks->len)
        return complain (out_error, "blocks takes numbers of at most %d blocks",
                         MOST_BLOCKS);
      for (guint32 block = (guint32) first; block <= last; block++)
        g_array_append_val (blocks, block);
    }
  return blocks->len > 0 ||
         complain (out_error, "blocks takes numbers, as in blocks=3,7-9");
}

/* In order, each once. */
static gboolean
apply_blocks (const Condition *condition, TesseraSelector *selector, char **out_error)
{
  g_autoptr (GArray) blocks = g_array_new (FALSE, FALSE, sizeof (guint32));

  if (!parse_ranges (condition->value, blocks, out_error))
    return FALSE;
  g_array_sort (blocks, compare_blocks);
  selector->blocks = g_new (guint32, blocks->len);
  for (guint i = 0; i < blocks->len; i++)
    {
      guint32 block = g_array_index (blocks, guint32, i);

      if (i == 0 || block != selector->blocks[selector->n_blocks - 1])
        selector->blocks[selector->n_blocks++] = block;
    }
  return TRUE;
}

static gboolean
apply_field (const Condition *condition,
             const EditsField *field,
             TesseraSelector *selector,
             char **out_error)
{
  const char *key = condition->key, *value = condition->value;
  guint64 number = 0;

  if (field->type == EDITS_TEXT)
    {
      if (*value == '\0' || !edits_is_one_line (value))
        return complain (out_error, "%s takes a text on one line", key);
      *edits_get_text (field, selector) = g_strdup (value);
      return TRUE;
    }
  if (field->type == EDITS_NAME)
    {
      number = edits_find_number (field->names, value);
      if (number == 0)
        return complain (
            out_error, "class takes persistent, scoped, transient or dynamic, not \"%s\"",
            value);
    }
  else if (!g_ascii_string_to_unsigned (value, 10, 0, field->most, &number, NULL))
    return complain (out_error, "%s takes a number, not \"%s\"", key, value);
  edits_set_number (field, selector, number);
  return TRUE;
}

static gboolean
apply_equality (const Condition *condition, TesseraSelector *selector, char **out_error)
{
  for (gsize i = 0; i < EDITS_N_FIELDS; i++)
    if (g_strcmp0 (edits_fields[i].condition, condition->key) == 0)
      return apply_field (condition, &edits_fields[i], selector, out_error);
  if (g_str_equal (condition->key, "blocks"))
    return apply_blocks (condition, selector, out_error);
  return complain (out_error,
                   "there is no condition \"%s\": it is one of size, life, phase, "
                   "died, module, source, "
                   "group, class, step, stream, ordinal, alive, blocks",
                   condition->key);
}

/* @seen: keys before this one. Limits may be several, all else takes one value. */
static gboolean
apply (const Condition *condition,
       TesseraSelector *selector,
       GHashTable *seen,
       char **out_error)
{
  if (g_str_equal (condition->key, "size"))
    return apply_size (condition, selector, out_error);
  if (g_str_equal (condition->key, "life"))
    return apply_life (condition, selector, out_error);
  if (condition->operator->takes_less || condition->operator->takes_more)
    return complain (out_error, "%s takes = only", condition->key);
  if (!g_hash_table_add (seen, g_strdup (condition->key)))
    return complain (out_error, "%s is there twice, and all conditions have to hold",
                     condition->key);
  return apply_equality (condition, selector, out_error);
}

gboolean
tessera_query_parse (const char *text, TesseraSelector *selector, char **out_error)
{
  g_autoptr (GHashTable) seen =
      g_hash_table_new_full (g_str_hash, g_str_equal, g_free, NULL);
  gboolean is_good = TRUE;

  *out_error = NULL;
  tessera_selector_init (selector);
  while (is_good)
    {
      Condition condition = { 0 };
      gboolean is_there = take_condition (&text, &condition, out_error);

      is_good = is_there && apply (&condition, selector, seen, out_error);
      g_free (condition.key);
      g_free (condition.value);
      if (!is_there)
        break;
    }
  if (*out_error == NULL)
    return TRUE;
  tessera_selector_clear (selector);
  return FALSE;
}

/* In the largest unit that says it exactly. */
static void
add_size (GString *text, const char *condition, guint64 bytes)
{
  gsize unit = TESSERA_N_SIZE_UNITS - 1;
  guint64 unit_bytes;

  while (unit > 0 && bytes % (guint64) tessera_size_units[unit].bytes != 0)
    unit--;
  unit_bytes = (guint64) tessera_size_units[unit].bytes;
  g_string_append_printf (text, " %s%" G_GUINT64_FORMAT "%s", condition,
                          bytes / unit_bytes,
                          unit > 0 ? tessera_size_units[unit].name : "");
}

static void
add_limits (
    GString *text, const char *key, guint64 least, guint64 most, gboolean are_bytes)
{
  const struct
  {
    const char *operator;
    guint64 number;
  } parts[] = { { least == most ? "=" : ">=", least },
                { "<=", least == most ? 0 : most } };

  for (gsize i = 0; i < G_N_ELEMENTS (parts); i++)
    {
      g_autofree char *condition = g_strconcat (key, parts[i].operator, NULL);

      if (parts[i].number == 0)
        continue;
      if (are_bytes)
        add_size (text, condition, parts[i].number);
      else
        g_string_append_printf (text, " %s%" G_GUINT64_FORMAT, condition,
                                parts[i].number);
    }
}

static void
add_text (GString *text, const char *value)
{
  if (strpbrk (value, " \"\\") == NULL)
    {
      g_string_append (text, value);
      return;
    }
  g_string_append_c (text, '"');
  for (; *value != '\0'; value++)
    {
      if (*value == '"' || *value == '\\')
        g_string_append_c (text, '\\');
      g_string_append_c (text, *value);
    }
  g_string_append_c (text, '"');
}

char *
tessera_query_format (const TesseraSelector *selector)
{
  GString *text = g_string_new (NULL);

  if (selector->blocks != NULL)
    g_string_append_printf (text, " %zu block%s", selector->n_blocks,
                            selector->n_blocks == 1 ? "" : "s");
  add_limits (text, "size", selector->least_bytes, selector->most_bytes, TRUE);
  add_limits (text, "life", selector->least_life, selector->most_life, FALSE);
  for (const EditsField *field = edits_fields; field < edits_fields + EDITS_N_FIELDS;
       field++)
    {
      if (field->condition == NULL || !edits_is_set (field, selector))
        continue;
      g_string_append_printf (text, " %s=", field->condition);
      if (field->type == EDITS_TEXT)
        add_text (text, *edits_get_text (field, selector));
      else if (field->type == EDITS_NAME)
        g_string_append (text, edits_get_name (field->names, (guint) edits_get_number (
                                                                 field, selector)));
      else
        g_string_append_printf (text, "%" G_GUINT64_FORMAT,
                                edits_get_number (field, selector));
    }
  g_string_erase (text, 0, text->len > 0);
  return g_string_free (text, FALSE);
}

static char *
describe_selector (const TesseraSelector *selector)
{
  char *text = tessera_query_format (selector);

  if (*text != '\0')
    return text;
  g_free (text);
  return g_strdup ("all blocks");
}

char *
tessera_edit_describe (const TesseraEdit *edit)
{
  g_autofree char *what = describe_selector (&edit->what);
  const char *size = TESSERA_SIZE (edit->at);

  switch (edit->kind)
    {
    case TESSERA_EDIT_MERGE:
      return g_strdup_printf ("Merge the groups of %s as \"%s\"", what, edit->group);
    case TESSERA_EDIT_SPLIT:
      if (edit->by == TESSERA_SPLIT_AT)
        return g_strdup_printf ("Split the groups of %s at event %" G_GUINT64_FORMAT,
                                what, edit->at);
      return g_strdup_printf ("Split the groups of %s by %s", what,
                              edits_get_name (EDITS_SPLITS, edit->by));
    case TESSERA_EDIT_GROUP:
      return g_strdup_printf ("Group %s as \"%s\"", what, edit->group);
    case TESSERA_EDIT_MOVE:
      return g_strdup_printf ("Move %s to \"%s\"", what, edit->group);
    case TESSERA_EDIT_PIN:
      return g_strdup_printf ("Pin %s at %s", what, size);
    case TESSERA_EDIT_TOGETHER:
      return g_strdup_printf ("Keep %s together", what);
    case TESSERA_EDIT_APART:
      if (edit->has_with)
        {
          g_autofree char *with = describe_selector (&edit->with);

          return g_strdup_printf ("Keep %s apart from %s", what, with);
        }
      return g_strdup_printf ("Keep %s apart from each other", what);
    case TESSERA_EDIT_DYNAMIC:
      return g_strdup_printf ("Leave %s to the dynamic allocator", what);
    case TESSERA_EDIT_CLASS:
      return g_strdup_printf ("Take %s for %s", what,
                              edits_get_name (EDITS_CLASSES, edit->lifetime_class));
    case TESSERA_EDIT_CAP:
      return g_strdup_printf ("Cap the pool at %s", size);
    }
  return g_strdup ("Change something");
}
