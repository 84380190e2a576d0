-- Plans, version 7 (in traces: version 8): what a plan goes on from.
--
-- SPDX-License-Identifier: Apache-2.0

-- New in the table plan (0: not told):
--   resumed_digest     slot_digest of the plan that this one was planned on from: then planning
--                      again without that one may give another
ALTER TABLE plan ADD COLUMN resumed_digest INTEGER NOT NULL DEFAULT 0;
