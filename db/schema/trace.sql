-- Trace files: what was recorded, and what a person changed about its plan.
--
-- SPDX-License-Identifier: Apache-2.0
--
-- Bytes are bytes, *_ns are nanoseconds, *_index count from 0 without gaps. Numbers said to
-- be 64 bits without sign show as negative from 2^63 on. Ranges are half-open.

CREATE TABLE action (
  action INTEGER PRIMARY KEY, -- what event.action holds
  name   TEXT NOT NULL
) STRICT;

INSERT INTO action VALUES
  (1, 'alloc'),          -- a block was handed out
  (2, 'free_requested'), -- the program let go of it
  (3, 'free_completed'), -- ... and its memory may be used again
  (4, 'segment_alloc'),  -- the driver gave memory
  (5, 'segment_free'),   -- ... and got it back
  (6, 'segment_map'),    -- pages of an expandable segment were mapped
  (7, 'segment_unmap'),  -- ... and unmapped
  (8, 'oom'),            -- a request failed
  (9, 'snapshot'),       -- somebody looked
  (10, 'mark');          -- a label

CREATE TABLE meta (
  meta_index INTEGER PRIMARY KEY,
  key        TEXT NOT NULL, -- e.g. 'format'; each once
  value      TEXT NOT NULL
) STRICT;

CREATE TABLE string (
  string_index INTEGER PRIMARY KEY,
  text         TEXT NOT NULL -- each once
) STRICT;

CREATE TABLE frame (
  frame_index INTEGER PRIMARY KEY, -- each (name, file, line) once
  name        INTEGER,          -- of the function: string_index; NULL: unknown
  file        INTEGER,          -- string_index; NULL: unknown
  line        INTEGER NOT NULL  -- 0: unknown
) STRICT;

-- Stacks as a tree: stacks that share their outer calls share the rows of those.
CREATE TABLE stack_node (
  node_index INTEGER PRIMARY KEY,
  caller     INTEGER,         -- the node that called this one, < node_index; NULL: outermost
  frame      INTEGER NOT NULL -- frame_index
) STRICT;

CREATE TABLE stack (
  stack_index INTEGER PRIMARY KEY, -- each stack once
  node        INTEGER              -- innermost call; NULL: a stack without frames
) STRICT;

-- What this file holds of each device.
CREATE TABLE recording (
  recording_index INTEGER PRIMARY KEY,
  device          INTEGER NOT NULL, -- its number in the process; each once
  source          TEXT NOT NULL,    -- base name of the file it was imported from
  n_events        INTEGER NOT NULL, -- rows in event
  memory_bytes    INTEGER NOT NULL, -- of the device; 0: not told
  limit_bytes     INTEGER NOT NULL, -- set by a memory fraction; 0: none
  alignment_bytes INTEGER NOT NULL, -- blocks take multiples of it
  has_addresses   INTEGER NOT NULL, -- 1: addr of blocks was recorded; 0: made up
  has_segments    INTEGER NOT NULL, -- 1: segment events and segment are there
  has_time        INTEGER NOT NULL, -- 1: at_ns means something
  starts_empty    INTEGER NOT NULL, -- 1: nothing was allocated before the first event
  is_expandable   INTEGER NOT NULL, -- 1: segments grow (expandable_segments)
  max_split_bytes INTEGER,          -- larger blocks are not split; NULL: no limit
  max_non_split_rounding_bytes INTEGER NOT NULL,
  large_segment_bytes          INTEGER NOT NULL,
  garbage_collection_threshold REAL NOT NULL -- 0: off; else of the limit, 0..1
) STRICT;

-- Power-of-two rounding of requests; interval 0: sizes up to 1 MiB, 1: 2 MiB ... 15: 32 GiB.
CREATE TABLE rounding (
  device         INTEGER NOT NULL,
  interval_index INTEGER NOT NULL,
  divisions      INTEGER NOT NULL, -- 0 or 1: off
  PRIMARY KEY (device, interval_index)
) STRICT, WITHOUT ROWID;

-- Every device that the source names, recorded here or not.
CREATE TABLE device (
  device_index INTEGER PRIMARY KEY,
  device       INTEGER NOT NULL,
  n_events     INTEGER NOT NULL, -- in the source
  n_segments   INTEGER NOT NULL  -- in the source
) STRICT;

CREATE TABLE stream (
  device       INTEGER NOT NULL,
  stream_index INTEGER NOT NULL, -- by first use; 0 is the default stream
  handle       INTEGER NOT NULL, -- as recorded, 64 bits without sign
  PRIMARY KEY (device, stream_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool (
  device     INTEGER NOT NULL,
  pool_index INTEGER NOT NULL, -- 0 is the default pool
  owner_id   INTEGER NOT NULL, -- both: of a private pool, 64 bits without sign
  user_id    INTEGER NOT NULL,
  PRIMARY KEY (device, pool_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
  event_index INTEGER PRIMARY KEY, -- as executed, all devices: the clock of everything else
  device      INTEGER NOT NULL,
  action      INTEGER NOT NULL, -- see table action
  addr        INTEGER NOT NULL, -- 64 bits without sign; of an oom: bytes free at the driver
  size_bytes  INTEGER NOT NULL, -- as asked for; of an oom: rounded
  at_ns       INTEGER NOT NULL, -- since the first event
  stack       INTEGER,          -- stack_index; NULL: unknown
  stream      INTEGER NOT NULL, -- stream_index
  pool        INTEGER NOT NULL, -- pool_index
  pool_known  INTEGER NOT NULL, -- 1: the source named the pool; 0: found by address
  is_left     INTEGER NOT NULL  -- 1: the plan that was followed leaves it to the dynamic
                                -- allocator (placeless)
) STRICT;

-- What the driver had given at the start and at the end.
CREATE TABLE segment (
  device        INTEGER NOT NULL,
  at_end        INTEGER NOT NULL, -- 0: before the first event, 1: after the last
  segment_index INTEGER NOT NULL, -- by address
  addr          INTEGER NOT NULL, -- 64 bits without sign
  size_bytes    INTEGER NOT NULL,
  stack         INTEGER,          -- stack_index; NULL: unknown
  stream        INTEGER NOT NULL, -- stream_index
  pool          INTEGER NOT NULL, -- pool_index
  is_small      INTEGER NOT NULL, -- 1: serves requests of at most 1 MiB
  is_expandable INTEGER NOT NULL, -- 1: a mapped range of a reservation
  PRIMARY KEY (device, at_end, segment_index)
) STRICT, WITHOUT ROWID;

-- Blocks inside them. At the start those in use only: what lies between is free.
CREATE TABLE held_block (
  device      INTEGER NOT NULL,
  at_end      INTEGER NOT NULL, -- 0: before the first event, 1: after the last
  block_index INTEGER NOT NULL, -- by address
  addr        INTEGER NOT NULL, -- 64 bits without sign
  size_bytes  INTEGER NOT NULL, -- as asked for; of a free block 0
  block_bytes INTEGER NOT NULL, -- what it takes; 0: only a replay can tell
  stack       INTEGER,          -- stack_index; NULL: unknown
  state       INTEGER NOT NULL, -- 0: free, 1: freed, waiting for another stream, 2: live
  tail_open   INTEGER NOT NULL, -- 1: block_bytes is the least possible
  PRIMARY KEY (device, at_end, block_index)
) STRICT, WITHOUT ROWID;

-- Named stretches of the trace: steps, phases, modules.
CREATE TABLE range (
  device      INTEGER NOT NULL,
  range_index INTEGER NOT NULL, -- by begin, outer before inner
  name        INTEGER,          -- string_index; NULL: none
  kind        INTEGER NOT NULL, -- 0: other, 1: step, 2: phase, 3: module
  begin_index INTEGER NOT NULL, -- event_index
  end_index   INTEGER NOT NULL, -- event_index; may equal begin_index
  begin_ns    INTEGER NOT NULL, -- like at_ns; may be negative
  end_ns      INTEGER NOT NULL,
  parent      INTEGER,          -- range_index of the range around it; NULL: none
  is_inferred INTEGER NOT NULL, -- 1: found by analysis; 0: the source says so
  PRIMARY KEY (device, range_index)
) STRICT, WITHOUT ROWID;

-- Which tensor lies where, told by the program at some moments of the run.
CREATE TABLE tensor (
  device       INTEGER NOT NULL,
  tensor_index INTEGER NOT NULL, -- as told
  event_index  INTEGER NOT NULL, -- told before this event, after all earlier ones; not falling
  addr         INTEGER NOT NULL, -- of its storage, 64 bits without sign
  kind         INTEGER NOT NULL, -- 1: parameter, 2: gradient, 3: optimizer state, 4: buffer
  name         INTEGER NOT NULL, -- string_index
  PRIMARY KEY (device, tensor_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE edit (
  edit_index INTEGER PRIMARY KEY, -- in the order of their making
  name       TEXT NOT NULL,    -- given by a person, or empty
  created_s  INTEGER NOT NULL, -- seconds since 1970-01-01 UTC
  rule       TEXT NOT NULL,    -- what is to change and how: one JSON object
  is_undone  INTEGER NOT NULL  -- 1: it does not stand; all that come after it are undone, too
) STRICT;

CREATE VIEW step AS
  SELECT device, range_index, text AS name, begin_index, end_index, begin_ns, end_ns,
         is_inferred
    FROM range LEFT JOIN string ON string_index = name
   WHERE kind = 1;

CREATE VIEW phase AS
  SELECT device, range_index, text AS name, begin_index, end_index, begin_ns, end_ns,
         parent, is_inferred
    FROM range LEFT JOIN string ON string_index = name
   WHERE kind = 2;

-- Stacks frame by frame; depth 0 is the innermost call.
CREATE VIEW stack_frame AS
  WITH RECURSIVE walk (stack, depth, node) AS (
    SELECT stack_index, 0, node FROM stack WHERE node IS NOT NULL
    UNION ALL
    SELECT walk.stack, depth + 1, caller
      FROM walk JOIN stack_node ON node_index = node
     WHERE caller IS NOT NULL
  )
  SELECT stack, depth, function.text AS function, source.text AS file, line
    FROM walk
    JOIN stack_node ON node_index = node
    JOIN frame ON frame_index = frame
    LEFT JOIN string AS function ON function.string_index = frame.name
    LEFT JOIN string AS source ON source.string_index = frame.file;

-- Blocks with lifetimes: each allocation and what next happened at its address. A block is
-- live over [born_index, freed_index) and takes memory over [born_index, died_index); NULL:
-- beyond the end of the trace. Blocks of the start are born at 0 and have at_start = 1.
CREATE VIEW block AS
  WITH touch AS (
    SELECT device, addr, event_index, action, size_bytes, stack, stream, pool
      FROM event
     WHERE action <= 3
    UNION ALL
    SELECT device, addr, -1, 3 - state, size_bytes, stack,
           (SELECT stream FROM segment
             WHERE segment.device = held_block.device AND at_end = 0
               AND segment.addr <= held_block.addr ORDER BY segment.addr DESC LIMIT 1),
           (SELECT pool FROM segment
             WHERE segment.device = held_block.device AND at_end = 0
               AND segment.addr <= held_block.addr ORDER BY segment.addr DESC LIMIT 1)
      FROM held_block
     WHERE at_end = 0 AND state > 0
  ),
  life AS (
    SELECT *,
           lead(event_index, 1) OVER here AS next_index,
           lead(action, 1) OVER here AS next_action,
           lead(stack, 1) OVER here AS next_stack,
           lead(event_index, 2) OVER here AS after_index
      FROM touch
    WINDOW here AS (PARTITION BY device, addr ORDER BY event_index)
  )
  SELECT life.device,
         max(event_index, 0) AS born_index,
         iif(event_index < 0 AND action = 2, 0, next_index) AS freed_index,
         iif(next_action = 2 AND action = 1, after_index, next_index) AS died_index,
         addr,
         size_bytes,
         (max(size_bytes, 1) + alignment_bytes - 1) / alignment_bytes * alignment_bytes
           AS block_bytes, -- rounded up to the alignment
         stack,                                                   -- of the allocation
         iif(next_action IN (2, 3), next_stack, NULL) AS freed_stack,
         stream,
         pool,
         event_index < 0 AS at_start
    FROM life JOIN recording ON recording.device = life.device
   WHERE action = 1 OR event_index < 0;

-- Bytes in use after each event that changed them. live: asked for and not freed; active:
-- rounded up, until the memory may be used again; reserved: what the driver gave.
CREATE VIEW usage AS
  WITH life AS MATERIALIZED (SELECT * FROM block),
  change (device, event_index, live, active, reserved) AS (
    SELECT device, born_index, size_bytes, block_bytes, 0 FROM life
    UNION ALL
    SELECT device, freed_index, -size_bytes, 0, 0 FROM life WHERE freed_index IS NOT NULL
    UNION ALL
    SELECT device, died_index, 0, -block_bytes, 0 FROM life WHERE died_index IS NOT NULL
    UNION ALL
    SELECT device, event_index, 0, 0, iif(action IN (4, 6), size_bytes, -size_bytes)
      FROM event WHERE action BETWEEN 4 AND 7
    UNION ALL
    SELECT device, 0, 0, 0, size_bytes FROM segment WHERE at_end = 0
  )
  SELECT device,
         event_index,
         sum(sum(live)) OVER so_far AS live_bytes,
         sum(sum(active)) OVER so_far AS active_bytes,
         sum(sum(reserved)) OVER so_far AS reserved_bytes
    FROM change
   GROUP BY device, event_index
  WINDOW so_far AS (PARTITION BY device ORDER BY event_index);
