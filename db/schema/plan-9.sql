-- Plans, version 9 (in traces: version 11): steps of two lengths.
--
-- SPDX-License-Identifier: Apache-2.0

-- An encoder and its decoder have a length each. 0 where there is one:
--   most_second        that the plan is for
--   second             of a step
-- What bytes of a law are by, besides what they were; what rounds says is rounded up to a
-- multiple of rounding:
--   by_second          by the second length T, ...
--   by_second_tokens   by batch x T
--   by_second_square   by batch x T x T
--   by_cross           by batch x L x T
--   by_bare_...        the same without the batch: of L x L, T x T and L x T
--   rounds             0: L, 1: T, 2: batch x L where that stands alone, 3: batch x T
-- When it is asked for at all:
--   from_tokens        from so many tokens on, batch x L, and up to to_tokens; 0: any
--   when_multiple      only where L is a multiple of this; 0: always
--   when_other         1: only where it is none
--   when_second        1: all this is of T, not of L
ALTER TABLE length_plan ADD COLUMN most_second INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_step ADD COLUMN second INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_second INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_second_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_second_square INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_cross INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_bare_square INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_bare_second_square INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN by_bare_cross INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN rounds INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN when_second INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN when_other INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN when_multiple INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN from_tokens INTEGER NOT NULL DEFAULT 0;
ALTER TABLE length_law ADD COLUMN to_tokens INTEGER NOT NULL DEFAULT 0;
