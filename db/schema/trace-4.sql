-- Trace files, version 9: a run that followed a plan tells which of its misses were planned.
--   is_left 1: a request that the plan leaves to the dynamic allocator (placeless)
--
-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE event ADD COLUMN is_left INTEGER NOT NULL DEFAULT 0;
