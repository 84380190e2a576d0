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
