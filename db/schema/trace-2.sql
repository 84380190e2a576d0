-- Trace files, version 2: beside the tables of a plan (plan-1.sql), what people changed.
--
-- SPDX-License-Identifier: Apache-2.0

CREATE TABLE edit (
  edit_index INTEGER PRIMARY KEY, -- in the order of their making
  name       TEXT NOT NULL,    -- given by a person, or empty
  created_s  INTEGER NOT NULL, -- seconds since 1970-01-01 UTC
  rule       TEXT NOT NULL     -- what is to change and how: one JSON object
) STRICT;
