-- Plans, version 8 (in traces: version 10): pairs of steps.
--
-- SPDX-License-Identifier: Apache-2.0

-- section.is_paired: it repeats and is two steps in a row, whose halves a run takes in turn
ALTER TABLE section ADD COLUMN is_paired INTEGER NOT NULL DEFAULT 0;
