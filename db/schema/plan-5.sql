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
