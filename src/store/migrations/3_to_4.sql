-- Adds axes to configs; older configs had one value of each. Drops the check of words that the
-- label alone decides.

CREATE TABLE config_4 (
  candidate_id INTEGER PRIMARY KEY REFERENCES candidate (id),
  bm           INTEGER NOT NULL,
  bn           INTEGER NOT NULL,
  bk           INTEGER NOT NULL,
  stages       INTEGER NOT NULL,
  cluster_m    INTEGER NOT NULL,
  cluster_n    INTEGER NOT NULL,
  schedule     TEXT    NOT NULL,
  consumers    INTEGER NOT NULL,
  mma_depth    INTEGER NOT NULL,
  tile_order   TEXT    NOT NULL,
  epilogue     TEXT    NOT NULL,
  walk         TEXT    NOT NULL,
  dtype        TEXT    NOT NULL CHECK (dtype IN ('bf16', 'fp16')),
  options      TEXT    NOT NULL
) STRICT;
INSERT INTO config_4
  SELECT candidate_id, bm, bn, bk, stages, cluster_m, cluster_n, 'coop', consumers, mma_depth,
         tile_order, epilogue, CASE persistent WHEN 1 THEN 'persist' ELSE 'single' END, dtype, ''
  FROM config;
DROP TABLE config;
ALTER TABLE config_4 RENAME TO config;
