/*
 * The kinds of step of a trace: see laws.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/laws.h"

#include <stdlib.h>

#include "planner/laws/kind/refine.h"
#include "planner/laws/parts/cuts.h"

static TesseraStatus
find_laws (TesseraLaws *laws,
           uint32_t kind,
           const TesseraTrace *trace,
           const TesseraBlocks *blocks,
           const TesseraStructure *structure)
{
  TesseraKind *of = &laws->kinds.kinds[kind];
  TesseraStatus status;

  if (of->n_steps < TESSERA_LAW_STEPS)
    return TESSERA_OK;
  status = tessera_kind_laws_init (&laws->laws[kind], of, blocks, NULL);
  if (status == TESSERA_REFUSED)
    return TESSERA_OK;
  if (status == TESSERA_OK && laws->laws[kind].varies)
    status = tessera_kind_refine (of, &laws->laws[kind], trace, blocks, structure,
                                  laws->parts.phase != NULL);
  return status;
}

/* Kinds and laws of what the structure calls steps. */
static TesseraStatus
find_all (TesseraLaws *laws,
          const TesseraTrace *trace,
          const TesseraBlocks *blocks,
          const TesseraStructure *structure)
{
  TesseraStatus status = tessera_kinds_init (&laws->kinds, trace, blocks, structure,
                                             laws->parts.phase != NULL);

  if (status != TESSERA_OK)
    return status;
  laws->laws = calloc (laws->kinds.n_kinds + 1, sizeof *laws->laws);
  if (!laws->laws)
    return TESSERA_NO_MEMORY;
  for (uint32_t k = 0; k < laws->kinds.n_kinds && status == TESSERA_OK; k++)
    status = find_laws (laws, k, trace, blocks, structure);
  return status;
}

/* Laws of parts, where steps are cut into parts that vary each by itself; else NULL. */
static TesseraStatus
try_parts (const TesseraTrace *trace,
           const TesseraBlocks *blocks,
           const TesseraStructure *structure,
           TesseraLaws **out_laws)
{
  TesseraLaws *laws = calloc (1, sizeof *laws);
  TesseraStatus status =
      laws ? tessera_step_parts_init (&laws->parts, trace, structure) : TESSERA_NO_MEMORY;
  bool are_cut = false;

  if (status == TESSERA_OK && laws->parts.phase)
    {
      status = find_all (laws, trace, blocks, &laws->parts.structure);
      if (status == TESSERA_OK)
        status = tessera_cuts_are_clean (laws, blocks, &are_cut);
    }
  if (status == TESSERA_OK && are_cut)
    *out_laws = laws;
  else
    tessera_laws_free (laws);
  return status;
}

TesseraStatus
tessera_laws_new (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure,
                  TesseraLaws **out_laws)
{
  TesseraLaws *laws = NULL;
  TesseraStatus status = try_parts (trace, blocks, structure, &laws);

  *out_laws = NULL;
  if (status == TESSERA_OK && !laws)
    {
      laws = calloc (1, sizeof *laws);
      status = laws ? find_all (laws, trace, blocks, structure) : TESSERA_NO_MEMORY;
    }
  if (status == TESSERA_OK)
    *out_laws = laws;
  else
    tessera_laws_free (laws);
  return status;
}

void
tessera_laws_free (TesseraLaws *laws)
{
  if (!laws)
    return;
  for (uint32_t k = 0; laws->laws && k < laws->kinds.n_kinds; k++)
    tessera_kind_laws_clear (&laws->laws[k]);
  free (laws->laws);
  tessera_kinds_clear (&laws->kinds);
  tessera_step_parts_clear (&laws->parts);
  free (laws);
}

const TesseraKind *
tessera_laws_main (const TesseraLaws *laws, const TesseraKindLaws **out_kind_laws)
{
  *out_kind_laws = NULL;
  for (uint32_t k = 0; k < laws->kinds.n_kinds; k++)
    if (laws->laws[k].varies)
      {
        *out_kind_laws = &laws->laws[k];
        return &laws->kinds.kinds[k];
      }
  return NULL;
}
