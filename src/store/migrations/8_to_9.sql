-- Adds the number of busy GPUs beside that of a race; it stays NULL for races recorded before.

ALTER TABLE race ADD COLUMN neighbours INTEGER CHECK (neighbours >= 0);
