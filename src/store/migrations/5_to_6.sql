-- Adds the effort of a race; all older races had full effort.

ALTER TABLE race ADD COLUMN
  effort TEXT NOT NULL DEFAULT 'full' CHECK (effort IN ('full', 'brief'));
