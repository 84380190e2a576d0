-- Plans, version 3 (in traces: version 4): the edits that made a plan what it is, and what
-- its groups cost.
--   ungrouped_bytes height of the same plan without groups; 0: not looked for
--
-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE plan ADD COLUMN ungrouped_bytes INTEGER NOT NULL DEFAULT 0;

CREATE TABLE plan_edit (
  plan_edit_index INTEGER PRIMARY KEY, -- in the order in which they were applied
  name            TEXT NOT NULL,
  rule            TEXT NOT NULL -- what was to change and how: one JSON object
) STRICT;
