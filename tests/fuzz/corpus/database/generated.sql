ALTER TABLE sample ADD COLUMN g AS (time_us * 2)
