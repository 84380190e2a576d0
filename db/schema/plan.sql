-- Plan files: where each request of a run is to lie.
--
-- SPDX-License-Identifier: Apache-2.0
--
-- Positions count the events of one canonical run: start, one step of each kind that repeats,
-- end. Bytes are bytes, *_index count from 0 without gaps.

CREATE TABLE plan (
  plan_index         INTEGER PRIMARY KEY, -- 0: a file holds one plan
  height_bytes       INTEGER NOT NULL, -- of the pool that all sections share
  bound_bytes        INTEGER NOT NULL, -- no layout of this run is smaller
  alignment_bytes    INTEGER NOT NULL,
  n_positions        INTEGER NOT NULL,
  trace_fingerprint  INTEGER NOT NULL, -- of the trace it was made from, 64 bits without sign
  slot_digest        INTEGER NOT NULL, -- equal plans, equal digests; 64 bits without sign
  device             INTEGER,          -- of the devices of its trace; NULL: that has one
  n_streams          INTEGER NOT NULL,
  followable         INTEGER NOT NULL, -- 0: no, 1: by a run of the same batches, 2: yes
  crosses_streams    INTEGER NOT NULL, -- 1: streams share addresses, which the run orders by barriers
  checked            INTEGER NOT NULL, -- 1: the checker accepted it
  follow_reason      TEXT,             -- why so followable
  strategy           TEXT,             -- how it was made
  source             TEXT,             -- of its trace: base name
  -- The run that it was made from, as far as its trace told: another run declines the plan.
  world              INTEGER NOT NULL, -- processes; 0: not told
  rank               INTEGER NOT NULL, -- of the process among them
  device_bytes       INTEGER NOT NULL, -- memory of its device; 0: not told
  torch              TEXT,             -- version of PyTorch; NULL: not told
  -- How good it is known to be, and what it was made with.
  proven_bound_bytes INTEGER NOT NULL, -- no layout of these slots is lower; 0: nobody looked
                                       -- beyond bound_bytes
  cut_short          INTEGER NOT NULL, -- 0: planned to the end, 1: a person stopped it. Then
                                       -- planning again gives another plan
  work_budget        INTEGER NOT NULL  -- units of work; 0: as many as the planner thinks right
) STRICT;

CREATE TABLE phase_name (
  phase INTEGER PRIMARY KEY, -- what slot.phase holds
  name  TEXT NOT NULL
) STRICT;

-- Stretches of the run in their order: the start, the steps that repeat, the end. Several kinds
-- of step have a section each over one pool: in whatever order a run passes through them, the
-- places hold.
CREATE TABLE section (
  section_index  INTEGER PRIMARY KEY,
  begin_position INTEGER NOT NULL,
  end_position   INTEGER NOT NULL,
  first_slot     INTEGER NOT NULL, -- slot_index
  n_slots        INTEGER NOT NULL,
  repeats        INTEGER NOT NULL, -- 1: a step that repeats; 0: happens once
  n_steps        INTEGER NOT NULL, -- of the trace that it stands for; 0: not told
  alternate      INTEGER NOT NULL  -- of kinds with two layouts, taken in turn: 1 the first, 2 the second; 0: one
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

-- The edits that made the plan what it is.
CREATE TABLE plan_edit (
  plan_edit_index INTEGER PRIMARY KEY, -- in the order in which they were applied
  name            TEXT NOT NULL,
  rule            TEXT NOT NULL -- what was to change and how: one JSON object
) STRICT;

-- How long a slot that lives on into the next step does so in one of another kind than its own;
-- without a row: over the whole of it, and beyond.
CREATE TABLE crossing (
  crossing_index INTEGER PRIMARY KEY,
  slot           INTEGER NOT NULL, -- one that wraps; ascending, then by section
  section        INTEGER NOT NULL, -- that repeats, not the slot's own
  died           INTEGER NOT NULL  -- position inside it
) STRICT;

-- Dynamic requests: those of the repeating step that have no slot, since each step asks for
-- other sizes there. A room is a range of the pool for those that come after one slot's
-- request and before the next one's: no slot needs it until their blocks are gone.
CREATE TABLE room (
  room_index  INTEGER PRIMARY KEY, -- by section, before_slot, stream, is_small: each once
  section     INTEGER NOT NULL,
  before_slot INTEGER NOT NULL,    -- whose request comes next; one past the section's: none
  born        INTEGER NOT NULL,    -- positions between which no slot needs the range
  died        INTEGER NOT NULL,
  died_next   INTEGER NOT NULL,    -- ... and in the next step up to this one; 0: not there
  stream      INTEGER NOT NULL,
  is_small    INTEGER NOT NULL,    -- 1: blocks of up to 1 MiB, 0: larger ones
  begin_bytes INTEGER NOT NULL,    -- the range; empty: there is none
  end_bytes   INTEGER NOT NULL,
  n_requests  INTEGER NOT NULL,    -- at most in a step
  most_bytes  INTEGER NOT NULL,    -- largest block seen
  sum_bytes   INTEGER NOT NULL     -- of the blocks of one step, the most
) STRICT;

-- Space above all slots (from height_bytes on, without gaps) for what finds no room.
CREATE TABLE region (
  region_index INTEGER PRIMARY KEY,
  stream       INTEGER NOT NULL,
  is_small     INTEGER NOT NULL,
  begin_bytes  INTEGER NOT NULL,
  end_bytes    INTEGER NOT NULL
) STRICT;

-- A request that an edit leaves to the dynamic allocator, or whose block steps keep. It has no
-- slot and no address; it is told from its equals as a slot is, by what comes before and after.
CREATE TABLE unplanned (
  unplanned_index INTEGER PRIMARY KEY, -- in the order of the requests
  size_bytes      INTEGER NOT NULL,    -- as asked for
  block_bytes     INTEGER NOT NULL,    -- rounded up to the alignment
  section         INTEGER NOT NULL,
  before_slot     INTEGER NOT NULL,    -- whose request comes next; one past the last of the
                                       -- section that is asked for: none does
  born            INTEGER NOT NULL,    -- position of its request
  phase           INTEGER,             -- NULL: in none
  ordinal         INTEGER,             -- among its equals, slots and unplanned ones together;
                                       -- NULL: there before the first event
  block           INTEGER,             -- of the trace; NULL: none
  stream          INTEGER NOT NULL,
  pool            INTEGER NOT NULL
) STRICT;

-- A plan for steps of every length: one row, or none. Where there is one, the rows of the tables
-- below say what a step of any length and batch takes; all tables above hold the plan of the
-- trace as it was.
CREATE TABLE length_plan (
  length_plan_index INTEGER PRIMARY KEY,
  most_batch        INTEGER NOT NULL, -- what it is for
  most_length       INTEGER NOT NULL,
  has_batch         INTEGER NOT NULL, -- 0: all batches count as 1
  n_steps           INTEGER NOT NULL, -- of the trace, of whatever kind
  n_early           INTEGER NOT NULL, -- slots asked for before the length is known
  fixed_bytes       INTEGER NOT NULL, -- of the pool, for what has a fixed place
  start_bytes       INTEGER NOT NULL, -- of the pool, before the first step
  alignment_bytes   INTEGER NOT NULL,
  cut_phase         TEXT -- where each micro-batch of a step has a length of its own, the plan is
                         -- for parts of steps: where this phase begins again after others, the
                         -- next part begins; it is without its number of the micro-batch
) STRICT;

-- Length and batch of each step of the kind, as read from its sizes.
CREATE TABLE length_step (
  length_step_index INTEGER PRIMARY KEY,
  batch             INTEGER NOT NULL,
  length            INTEGER NOT NULL
) STRICT;

CREATE TABLE length_phase (
  length_phase_index INTEGER PRIMARY KEY,
  name               TEXT NOT NULL
) STRICT;

-- The size that follows from batch B and length L; R is L rounded up to a multiple of rounding.
-- Bytes = (by_one + by_batch * B + by_length * R + by_tokens * B * R + by_square * B * R * L)
-- / denominator, rounded up, at most cap_bytes.
CREATE TABLE length_law (
  length_law_index INTEGER PRIMARY KEY,
  by_one           INTEGER NOT NULL,
  by_batch         INTEGER NOT NULL,
  by_length        INTEGER NOT NULL,
  by_tokens        INTEGER NOT NULL,
  by_square        INTEGER NOT NULL,
  denominator      INTEGER NOT NULL,
  cap_bytes        INTEGER NOT NULL, -- 0: none
  rounding         INTEGER NOT NULL, -- 1: none
  kind             INTEGER NOT NULL  -- 0: constant, 1: affine, 2: quadratic, 3: rounded or with
                                     -- a cap, 4: no law, the largest seen
) STRICT;

-- Requests of a step in their order; positions are their numbers.
CREATE TABLE length_slot (
  length_slot_index INTEGER PRIMARY KEY,
  law          INTEGER NOT NULL, -- length_law_index
  died         INTEGER NOT NULL, -- slot before whose request it has ended
  phase        INTEGER,          -- length_phase_index; NULL: none
  stream       INTEGER NOT NULL, -- by first use
  pool         INTEGER NOT NULL,
  place        INTEGER NOT NULL, -- 0: by an order, 1: fixed, 2: not planned
  is_once      INTEGER NOT NULL, -- 1: one step makes it and keeps it
  crosses      INTEGER NOT NULL, -- 1: lives into the next step
  offset_bytes INTEGER NOT NULL, -- of a fixed one
  spare_bytes  INTEGER NOT NULL, -- its other place, where it crosses
  gone         INTEGER NOT NULL, -- slot of the next step before whose request it has ended, where
                                 -- others lie in its two places meanwhile; 0: nobody does
  seen         INTEGER NOT NULL, -- 0: asked for in steps of any kind, 1: only in the step that
                                 -- makes what one step makes, 2: never there
  is_over_cuts INTEGER NOT NULL, -- 1: one part of a step makes it, others find it there (gradients)
  from_tokens  INTEGER NOT NULL, -- B * L from which on a part asks for it ...
  to_tokens    INTEGER NOT NULL  -- ... and up to which; 0: no such limit is known
) STRICT;

-- What is asked for before the first step, in order.
CREATE TABLE start_slot (
  start_slot_index INTEGER PRIMARY KEY,
  size_bytes   INTEGER NOT NULL,
  block_bytes  INTEGER NOT NULL,
  offset_bytes INTEGER NOT NULL,
  died         INTEGER NOT NULL, -- slot of the start before whose request it has ended
  phase        INTEGER,          -- length_phase_index; NULL: none
  stream       INTEGER NOT NULL,
  pool         INTEGER NOT NULL,
  is_held      INTEGER NOT NULL, -- 1: alive when the first step begins, there for good
  is_left      INTEGER NOT NULL  -- 1: an edit leaves it to the dynamic allocator: no place
) STRICT;

CREATE TABLE length_order (
  length_order_index INTEGER PRIMARY KEY,
  from_tokens        INTEGER NOT NULL, -- batch x length from which on it is used
  is_first           INTEGER NOT NULL, -- 1: for the step that makes what one step makes
  in_spare           INTEGER NOT NULL, -- 1: for steps whose slots with gone lie in spare_bytes
  n_low              INTEGER NOT NULL  -- so many of the lowest share no address with the others,
                                       -- whenever they live
) STRICT;

-- The slots of each order, the lowest first, order after order.
CREATE TABLE length_order_slot (
  length_order_slot_index INTEGER PRIMARY KEY,
  slot                    INTEGER NOT NULL -- length_slot_index
) STRICT;

-- What rests on what, order after order.
CREATE TABLE length_order_edge (
  length_order_edge_index INTEGER PRIMARY KEY,
  above                   INTEGER NOT NULL, -- length_order_slot_index
  below                   INTEGER NOT NULL  -- the same, of the same order, before it
) STRICT;
