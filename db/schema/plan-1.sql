-- Plan files, version 1. Trace files carry the same tables from their version 2 on.
--
-- SPDX-License-Identifier: Apache-2.0
--
-- Positions count the events of one canonical run: start, one repeating step, end. Bytes
-- are bytes, *_index count from 0 without gaps.

CREATE TABLE plan (
  plan_index        INTEGER PRIMARY KEY, -- 0: a file holds one plan, or none
  height_bytes      INTEGER NOT NULL, -- of the pool that all sections share
  bound_bytes       INTEGER NOT NULL, -- no layout of this run is smaller
  alignment_bytes   INTEGER NOT NULL,
  n_positions       INTEGER NOT NULL,
  trace_fingerprint INTEGER NOT NULL, -- of the trace it was made from, 64 bits without sign
  slot_digest       INTEGER NOT NULL, -- equal plans, equal digests; 64 bits without sign
  device            INTEGER NOT NULL,
  n_streams         INTEGER NOT NULL,
  across_streams    INTEGER NOT NULL, -- 1: streams share addresses, see hand_over
  followable        INTEGER NOT NULL, -- 0: no, 1: by a run of the same batches, 2: yes
  checked           INTEGER NOT NULL, -- 1: the checker accepted it
  follow_reason     TEXT,             -- why so followable
  strategy          TEXT,             -- how it was made
  source            TEXT              -- of its trace: base name
) STRICT;

CREATE TABLE phase_name (
  phase INTEGER PRIMARY KEY, -- what slot.phase holds
  name  TEXT NOT NULL
) STRICT;

-- Stretches of the run in their order: the start, the step that repeats, the end.
CREATE TABLE section (
  section_index  INTEGER PRIMARY KEY,
  begin_position INTEGER NOT NULL,
  end_position   INTEGER NOT NULL,
  first_slot     INTEGER NOT NULL, -- slot_index
  n_slots        INTEGER NOT NULL,
  repeats        INTEGER NOT NULL  -- 1: the step that repeats; 0: happens once
) STRICT;

-- Blocks planned together.
CREATE TABLE block_group (
  group_index    INTEGER PRIMARY KEY,
  name           TEXT NOT NULL,    -- why they belong together
  kind           INTEGER NOT NULL, -- 0: persistent, 1: same phases, 2: same size,
                                   -- 3: same module, 4: made by hand
  lifetime_class INTEGER NOT NULL, -- see slot
  n_blocks       INTEGER NOT NULL,
  height_bytes   INTEGER NOT NULL, -- of its own layout
  bytes_x_events INTEGER NOT NULL, -- sum of size * lifetime, 64 bits without sign
  time_memory_product REAL NOT NULL -- used / reserved area of its own layout, 0..1
) STRICT;

CREATE TABLE slot (
  slot_index     INTEGER PRIMARY KEY, -- by section, then born
  size_bytes     INTEGER NOT NULL, -- as asked for
  block_bytes    INTEGER NOT NULL, -- what it takes
  offset_bytes   INTEGER NOT NULL, -- in the pool
  born           INTEGER NOT NULL, -- position of its request
  died           INTEGER NOT NULL, -- position of its end
  died_next      INTEGER NOT NULL, -- wraps: end of the block of the step before; else 0
  section        INTEGER NOT NULL, -- section_index
  phase          INTEGER,          -- see phase_name; NULL: none
  ordinal        INTEGER,          -- among its equals; NULL: no request's own
  block_group    INTEGER,          -- group_index; NULL: none
  block          INTEGER,          -- of the trace: start by address, then by birth
  stream         INTEGER NOT NULL, -- by first use
  pool           INTEGER NOT NULL,
  lifetime_class INTEGER NOT NULL, -- 1: persistent, 2: scoped, 3: transient, 4: dynamic,
                                   -- 0: not classified
  wraps          INTEGER NOT NULL  -- 1: lives past the end of the repeating step
) STRICT;

-- Ranges that pass from one stream to another.
CREATE TABLE hand_over (
  hand_over_index INTEGER PRIMARY KEY,
  from_slot       INTEGER NOT NULL, -- slot_index
  to_slot         INTEGER NOT NULL  -- slot_index
) STRICT;
