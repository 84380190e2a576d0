/*
 * What is selected, as text to take along. See copy-text.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/model/document-private.h"

#include "cli/command.h"

/* A table of these is made in a frame's time. */
#define MOST_ROWS 1000

/* Takes @text over; nothing where it is not known. */
static void
add_line (GString *lines, const char *name, char *text)
{
  if (text != NULL && *text != '\0')
    g_string_append_printf (lines, "%s: %s\n", name, text);
  g_free (text);
}

static void
add_stack (GString *lines, const TesseraTrace *trace, uint32_t stack)
{
  if (stack >= trace->n_stacks)
    return;
  g_string_append (lines, "stack:\n");
  for (uint32_t i = trace->stack_begin[stack]; i < trace->stack_begin[stack + 1]; i++)
    {
      const TesseraFrame *frame = &trace->frames[trace->stack_frames[i]];

      g_string_append_printf (lines, "  %s, %s:%" G_GINT64_FORMAT "\n",
                              cli_shown (tessera_trace_string (trace, frame->name)),
                              cli_shown (tessera_trace_string (trace, frame->file)),
                              frame->line);
    }
}

static char *
text_of_block (TesseraDocument *document, uint32_t index)
{
  TesseraData *data = document->data;
  const TesseraBlock *block = &data->blocks->blocks[index];
  GString *lines = g_string_new (NULL);
  g_autofree char *number = tessera_describe_count (index);
  g_autofree char *size = tessera_describe_bytes (block->size_bytes);
  g_autofree char *exact = tessera_describe_bytes_exact (block->size_bytes);

  g_string_append_printf (lines, "block %s: %s (%s)\n", number, size, exact);
  add_line (lines, "class", g_strdup (tessera_class_name (block->lifetime_class)));
  add_line (lines, "lives", tessera_describe_life (data, index));
  add_line (lines, "born", tessera_describe_birth (data, index));
  add_line (lines, "dies", tessera_describe_death (data, index));
  add_line (lines, "phases", tessera_describe_phases (data, index));
  add_line (lines, "stream", g_strdup_printf ("%u", block->stream));
  for (int side = 0; side < TESSERA_N_SIDES; side++)
    if (document->sheets[side] != NULL)
      add_line (lines, side == TESSERA_SIDE_LEFT ? "left" : "right",
                tessera_describe_place (document->sheets[side], index));
  add_line (lines, "group", tessera_describe_group (data, index));
  add_stack (lines, data->trace, block->stack);
  return g_string_free (lines, FALSE);
}

static void
add_row (GString *rows, TesseraData *data, uint32_t index)
{
  const TesseraBlock *block = &data->blocks->blocks[index];
  g_autofree char *phases = tessera_describe_phases (data, index);
  g_autofree char *source = tessera_describe_source (data, index);
  g_autofree char *group = tessera_describe_group (data, index);
  g_autofree char *address = tessera_describe_address (data, index);
  char *names[] = { phases, source, group };

  /* Names may have whatever a file has. */
  for (size_t i = 0; i < G_N_ELEMENTS (names); i++)
    g_strdelimit (names[i], "\t\r\n", ' ');
  g_string_append_printf (rows, "%u\t%" G_GUINT64_FORMAT "\t%u\t%u\t%s\t", index,
                          block->size_bytes, block->born_index, block->died_index,
                          tessera_class_name (block->lifetime_class));
  g_string_append_printf (rows, "%s\t%s\t%s\t%s\n", phases, source, group, address);
}

static char *
text_of_several (TesseraDocument *document)
{
  const TesseraSelection *selection = document->selection;
  GString *rows = g_string_new ("block\tbytes\tborn\tdied\tclass\tphases\tsource\tgroup\t"
                                "address\n");

  for (size_t i = 0; i < MIN (selection->n_blocks, MOST_ROWS); i++)
    add_row (rows, document->data, selection->blocks[i]);
  if (selection->n_blocks > MOST_ROWS)
    {
      g_autofree char *n = tessera_describe_count (selection->n_blocks - MOST_ROWS);

      g_string_append_printf (rows, "and %s more\n", n);
    }
  return g_string_free (rows, FALSE);
}

char *
tessera_copy_text (TesseraDocument *document)
{
  if (document->data == NULL || document->selection == NULL)
    return NULL;
  if (tessera_document_n_selected (document) == 1)
    return text_of_block (document, document->selection->blocks[0]);
  return text_of_several (document);
}
