-- Trace files, version 4: edits can be undone, and stay for being done again.
--   is_undone 1: it does not stand; all that come after it are undone, too
--
-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE edit ADD COLUMN is_undone INTEGER NOT NULL DEFAULT 0;
