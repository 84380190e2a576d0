-- Plans, version 6 (in traces: version 7): requests without a place.
--
-- SPDX-License-Identifier: Apache-2.0

-- A request that a person leaves to the dynamic allocator. It has no slot and no address; it
-- is told from its equals as a slot is, by what comes before and after it.
CREATE TABLE placeless (
  placeless_index INTEGER PRIMARY KEY, -- in the order of the requests
  size_bytes      INTEGER NOT NULL,    -- as asked for
  block_bytes     INTEGER NOT NULL,    -- rounded up to the alignment
  section         INTEGER NOT NULL,
  before_slot     INTEGER NOT NULL,    -- whose request comes next; one past the last of the
                                       -- section that is asked for: none does
  born            INTEGER NOT NULL,    -- position of its request
  phase           INTEGER,             -- NULL: in none
  ordinal         INTEGER,             -- among its equals, slots and placeless ones together;
                                       -- NULL: there before the first event
  block           INTEGER,             -- of the trace; NULL: none
  stream          INTEGER NOT NULL,
  pool            INTEGER NOT NULL
) STRICT;

-- A plan for every length, where each micro-batch of a step has one of its own: it is one
-- for parts of steps then.
--   cut_phase      where it begins again after others, the next part begins; its name is
--                  that without a number of the micro-batch. NULL: steps are not cut
--   is_over_cuts   1: one part makes it, others of its step find it there (gradients)
--   from_tokens    batch x length from which on, and up to which (to_tokens), a part asks
--                  for it; 0: no such limit is known
ALTER TABLE length_plan ADD COLUMN cut_phase TEXT;
ALTER TABLE length_slot ADD COLUMN is_over_cuts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_slot ADD COLUMN from_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_slot ADD COLUMN to_tokens INTEGER NOT NULL DEFAULT 0;
