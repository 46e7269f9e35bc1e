-- Races of brief effort came with this version.

ALTER TABLE race ADD COLUMN
  effort TEXT NOT NULL DEFAULT 'full' CHECK (effort IN ('full', 'brief'));
