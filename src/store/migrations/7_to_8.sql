-- Adds the checksum of races and studies; it stays NULL for those recorded before.

ALTER TABLE race ADD COLUMN checksum INTEGER;
ALTER TABLE study ADD COLUMN checksum INTEGER;
