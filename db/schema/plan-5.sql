-- Plans, version 5 (in traces: version 6): what a hand-over waits for, and for how long.
--   side_streams   1: other streams use the slot's blocks as well (record_stream) and may
--                  not be done when it is freed: who takes the range waits for them
--   event_slot     the owner's request before which the event is recorded that the new
--                  stream waits for; NULL: none, only the side streams are waited for, or
--                  not told
--   slack_ns       from when that is done, as the host knows, to the request that takes
--                  the range, by the clock of the trace, the least of all steps; below 0:
--                  not done by then. NULL: no clock, or not told
--   slack_requests the same in requests and frees of all streams; NULL: not told
--
-- SPDX-License-Identifier: Apache-2.0

-- section.n_steps: steps of the trace that it stands for; 0: not told
ALTER TABLE section ADD COLUMN n_steps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE slot ADD COLUMN side_streams INTEGER NOT NULL DEFAULT 0;
ALTER TABLE hand_over ADD COLUMN event_slot INTEGER;
ALTER TABLE hand_over ADD COLUMN slack_ns INTEGER;
ALTER TABLE hand_over ADD COLUMN slack_requests INTEGER;

-- Several kinds of step over one pool: each has a section that repeats, and in whatever order
-- a run passes through them, the places hold. A row says how long a slot that lives on into
-- the next step does so in one of another kind than its own; without one: over the whole of
-- it, and beyond.
CREATE TABLE crossing (
  crossing_index INTEGER PRIMARY KEY,
  slot           INTEGER NOT NULL, -- one that wraps; ascending, then by section
  section        INTEGER NOT NULL, -- that repeats, not the slot's own
  died           INTEGER NOT NULL  -- position inside it
) STRICT;

-- How good the plan is known to be, and what it was made with.
--   proven_bound_bytes no layout of these slots is lower; 0: nobody looked beyond bound_bytes
--   cut_short          0: planned to the end, 1: its time was up, 2: a person stopped it. Then
--                      planning again gives another plan
--   time_limit_s       seconds; 0: none
--   work_budget        units of work; 0: as many as the planner thinks right
ALTER TABLE plan ADD COLUMN proven_bound_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan ADD COLUMN cut_short INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan ADD COLUMN time_limit_s REAL NOT NULL DEFAULT 0;
ALTER TABLE plan ADD COLUMN work_budget INTEGER NOT NULL DEFAULT 0;

-- A plan for every length: the step that makes what one step makes (is_once).
--   seen           0: asked for in steps of any kind, 1: only in that one, 2: never there
--   is_first       1: an order for that step
--   n_low          so many of the lowest share no address with the others, whenever they live
ALTER TABLE length_order ADD COLUMN is_first INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_slot ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_order ADD COLUMN n_low INTEGER NOT NULL DEFAULT 0;

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
