-- Plans, version 10 (in traces: version 12): edits in plans for every length.
--
-- SPDX-License-Identifier: Apache-2.0

-- is_left: an edit leaves the request to the dynamic allocator; it has no place.
ALTER TABLE start_slot ADD COLUMN is_left INTEGER NOT NULL DEFAULT 0;
