/*
 * The kinds of step of a trace: see laws.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/laws/laws.h"

#include <stdlib.h>

#include "planner/laws/refine.h"

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
    status = tessera_kind_refine (of, &laws->laws[kind], trace, blocks, structure);
  return status;
}

TesseraStatus
tessera_laws_new (const TesseraTrace *trace,
                  const TesseraBlocks *blocks,
                  const TesseraStructure *structure,
                  TesseraLaws **out_laws)
{
  TesseraLaws *laws = calloc (1, sizeof *laws);
  TesseraStatus status;

  *out_laws = NULL;
  if (!laws)
    return TESSERA_NO_MEMORY;
  status = tessera_kinds_init (&laws->kinds, trace, blocks, structure);
  if (status == TESSERA_OK)
    {
      laws->laws = calloc (laws->kinds.n_kinds + 1, sizeof *laws->laws);
      status = laws->laws ? TESSERA_OK : TESSERA_NO_MEMORY;
    }
  for (uint32_t k = 0; k < laws->kinds.n_kinds && status == TESSERA_OK; k++)
    status = find_laws (laws, k, trace, blocks, structure);
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
