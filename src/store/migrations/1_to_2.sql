-- SQLite can neither change the CHECK of a table nor add a column in its middle. So the table is
-- made anew and takes the old one's name; references to it stay valid while foreign keys are off.
--
-- The uid of a race is derived from its content, so that copies of one database still agree on it.
-- Inputs count as cold unless the 512 sets that they rotated over did not fill 3x L2.

CREATE TABLE race_2 (
  id          INTEGER PRIMARY KEY,
  uid         TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),
  run_id      INTEGER NOT NULL REFERENCES run (id),
  shape_id    INTEGER NOT NULL REFERENCES shape (id),
  regime      TEXT    NOT NULL CHECK (regime IN ('sustained', 'burst')),
  cold        INTEGER NOT NULL CHECK (cold IN (0, 1)),
  graph       INTEGER NOT NULL CHECK (graph IN (0, 1)),
  pdl         INTEGER NOT NULL CHECK (pdl IN (0, 1)),
  tag         TEXT    NOT NULL,
  weight      REAL    NOT NULL,
  started_utc TEXT    NOT NULL
) STRICT;
INSERT INTO race_2
  SELECT race.id,
         content_hash(json_array(gpu_uuid, run.started_utc, command_line, race.id,
                                 race.started_utc, m, n, k, dtype, layout, regime)),
         run_id, shape_id, regime,
         512 * 2 * (m * k + n * k + m * n) >= 3 * l2_bytes, 1, 0,
         tag, weight, race.started_utc
  FROM race JOIN run ON run.id = run_id JOIN environment ON environment.id = environment_id
            JOIN shape ON shape.id = shape_id;
DROP TABLE race;
ALTER TABLE race_2 RENAME TO race;
CREATE INDEX race_by_shape ON race (shape_id);

CREATE TABLE sample_2 (
  trial_id      INTEGER NOT NULL REFERENCES trial (id),
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL CHECK (pace IN ('shared', 'own', 'rested')),
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),
  sm_mhz        REAL    NOT NULL,
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,
  PRIMARY KEY (trial_id, round)
) STRICT, WITHOUT ROWID;
INSERT INTO sample_2
  SELECT trial_id, round, 'shared', launches, time_us, sm_mhz, NULL, NULL, NULL FROM sample;
DROP TABLE sample;
ALTER TABLE sample_2 RENAME TO sample;

CREATE TABLE energy (
  trial_id INTEGER PRIMARY KEY REFERENCES trial (id),
  window_s REAL NOT NULL CHECK (window_s > 0),
  power_w  REAL NOT NULL,
  time_us  REAL NOT NULL CHECK (time_us > 0),
  joules   REAL GENERATED ALWAYS AS (power_w * time_us * 1e-6) VIRTUAL
) STRICT;

CREATE TABLE attempt (
  run_id       INTEGER PRIMARY KEY REFERENCES run (id),
  shape_id     INTEGER NOT NULL REFERENCES shape (id),
  candidate_id INTEGER NOT NULL REFERENCES candidate (id),
  boot_id      TEXT    NOT NULL,
  started_utc  TEXT    NOT NULL
) STRICT;
