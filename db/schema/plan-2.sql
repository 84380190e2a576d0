-- Plans, version 2 (in traces: version 3): the run that a plan was made from, as far as its
-- trace told. Another run declines the plan.
--   world        processes; 0: not told
--   rank         of the process among them
--   device_bytes memory of its device; 0: not told
--   torch        version of PyTorch; NULL: not told
--
-- SPDX-License-Identifier: Apache-2.0

ALTER TABLE plan ADD COLUMN world INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan ADD COLUMN rank INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan ADD COLUMN device_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE plan ADD COLUMN torch TEXT;
