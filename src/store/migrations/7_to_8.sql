-- Races and studies have a checksum from now on; nobody can say one for what was recorded before.

ALTER TABLE race ADD COLUMN checksum INTEGER;
ALTER TABLE study ADD COLUMN checksum INTEGER;
