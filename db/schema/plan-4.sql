-- Plans, version 4 (in traces: version 5): a plan for steps of every length. Where there is
-- one, its rows say what a step of any length and batch takes; all other tables hold the
-- plan of the trace as it was.
--
-- SPDX-License-Identifier: Apache-2.0

-- One row, or none.
CREATE TABLE length_plan (
  length_plan_index INTEGER PRIMARY KEY,
  most_batch        INTEGER NOT NULL, -- what it is for
  most_length       INTEGER NOT NULL,
  has_batch         INTEGER NOT NULL, -- 0: all batches count as 1
  n_steps           INTEGER NOT NULL, -- of the trace, of whatever kind
  n_early           INTEGER NOT NULL, -- slots asked for before the length is known
  fixed_bytes       INTEGER NOT NULL, -- of the pool, for what has a fixed place
  start_bytes       INTEGER NOT NULL, -- of the pool, before the first step
  alignment_bytes   INTEGER NOT NULL
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

-- Bytes = (by_one + by_batch * B + by_length * R + by_tokens * B * R + by_square * B * R * L)
-- / denominator, rounded up, at most cap_bytes; L: the length, R: rounded up to rounding.
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
  kind             INTEGER NOT NULL  -- 0: constant, 1: affine, 2: quadratic, 3: rounded or
                                     -- with a cap, 4: no law, the largest seen
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
  spare_bytes  INTEGER NOT NULL  -- its other place, where it crosses
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
  is_held      INTEGER NOT NULL  -- 1: alive when the first step begins, there for good
) STRICT;

CREATE TABLE length_order (
  length_order_index INTEGER PRIMARY KEY,
  from_tokens        INTEGER NOT NULL -- batch x length from which on it is used
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
