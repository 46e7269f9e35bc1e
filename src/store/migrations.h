// What takes a database from one schema version to the next. Internal to store. The text of a
// migration never changes: it makes what schema.sql was at that version, whatever that is today.
#pragma once

namespace hgemm {

/// A table cannot be given another CHECK, nor a column in its midst: it is made anew and takes the
/// old one's name, which leaves the references to it as they are while foreign keys are off.
///
/// The uid of a race comes from what it is, so that copies of one database still agree on it.
/// Inputs were cold unless the 512 sets that they rotated over did not fill 3x L2.
inline constexpr const char* kMigration1To2 = R"sql(
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
)sql";

/// Studies, and shapes in fp32, which their ladder starts from.
inline constexpr const char* kMigration2To3 = R"sql(
CREATE TABLE shape_3 (
  id     INTEGER PRIMARY KEY,
  m      INTEGER NOT NULL CHECK (m > 0),
  n      INTEGER NOT NULL CHECK (n > 0),
  k      INTEGER NOT NULL CHECK (k > 0),
  dtype  TEXT    NOT NULL CHECK (dtype IN ('bf16', 'fp16', 'fp32')),
  layout TEXT    NOT NULL CHECK (layout IN ('TN')),
  UNIQUE (m, n, k, dtype, layout)
) STRICT;
INSERT INTO shape_3 SELECT * FROM shape;
DROP TABLE shape;
ALTER TABLE shape_3 RENAME TO shape;

CREATE TABLE study (
  id              INTEGER PRIMARY KEY,
  uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),
  run_id          INTEGER NOT NULL REFERENCES run (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('micro', 'probe', 'counters', 'ladder')),
  label           TEXT    NOT NULL,
  shape_id        INTEGER REFERENCES shape (id),
  cubin_hash      TEXT    NOT NULL,
  status          TEXT    NOT NULL CHECK (status IN ('ok', 'invalid_config', 'compile_failed',
                    'launch_failed', 'wrong_result', 'timed_out', 'crashed')),
  message         TEXT    NOT NULL,
  correct         INTEGER CHECK (correct IN (0, 1)),
  error           REAL,
  tolerance       REAL,
  verdict_message TEXT,
  started_utc     TEXT    NOT NULL
) STRICT;

CREATE TABLE micro (
  study_id INTEGER NOT NULL REFERENCES study (id),
  metric   TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  value    REAL    NOT NULL,
  low      REAL    NOT NULL,
  high     REAL    NOT NULL,
  samples  INTEGER NOT NULL,
  PRIMARY KEY (study_id, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE cycle (
  study_id INTEGER NOT NULL REFERENCES study (id),
  role     TEXT    NOT NULL,
  phase    TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  cycles   REAL    NOT NULL,
  PRIMARY KEY (study_id, role, phase)
) STRICT, WITHOUT ROWID;

CREATE TABLE span (
  study_id INTEGER NOT NULL REFERENCES study (id),
  sm       INTEGER NOT NULL,
  cta      INTEGER NOT NULL,
  role     TEXT    NOT NULL,
  phase    TEXT    NOT NULL,
  tile     INTEGER NOT NULL,
  start_ns REAL    NOT NULL,
  end_ns   REAL    NOT NULL
) STRICT;
CREATE INDEX span_by_study ON span (study_id);

CREATE TABLE counter (
  study_id INTEGER NOT NULL REFERENCES study (id),
  metric   TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  value    REAL    NOT NULL,
  source   TEXT    NOT NULL,
  PRIMARY KEY (study_id, metric)
) STRICT, WITHOUT ROWID;

CREATE TABLE ladder (
  study_id      INTEGER NOT NULL REFERENCES study (id),
  label         TEXT    NOT NULL CHECK (label IN ('step', 'cublas')),
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL CHECK (pace IN ('shared', 'own', 'rested')),
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),
  sm_mhz        REAL    NOT NULL,
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,
  PRIMARY KEY (study_id, label, round)
) STRICT, WITHOUT ROWID;
)sql";

/// Configs with more axes, all of which had one value before, and words that are the label's alone
/// to judge.
inline constexpr const char* kMigration3To4 = R"sql(
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
)sql";

/// Leading dimensions; and chains: another kind of study, its links, and samples that are of a
/// ladder's step or of a chain.
inline constexpr const char* kMigration4To5 = R"sql(
CREATE TABLE shape_5 (
  id     INTEGER PRIMARY KEY,
  m      INTEGER NOT NULL CHECK (m > 0),
  n      INTEGER NOT NULL CHECK (n > 0),
  k      INTEGER NOT NULL CHECK (k > 0),
  dtype  TEXT    NOT NULL CHECK (dtype IN ('bf16', 'fp16', 'fp32')),
  layout TEXT    NOT NULL CHECK (layout IN ('TN')),
  lda    INTEGER NOT NULL CHECK (lda >= k),
  ldb    INTEGER NOT NULL CHECK (ldb >= k),
  ldd    INTEGER NOT NULL CHECK (ldd >= n),
  UNIQUE (m, n, k, dtype, layout, lda, ldb, ldd)
) STRICT;
INSERT INTO shape_5 SELECT id, m, n, k, dtype, layout, k, k, n FROM shape;
DROP TABLE shape;
ALTER TABLE shape_5 RENAME TO shape;

CREATE TABLE study_5 (
  id              INTEGER PRIMARY KEY,
  uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),
  run_id          INTEGER NOT NULL REFERENCES run (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('micro', 'probe', 'counters', 'ladder',
                    'chain')),
  label           TEXT    NOT NULL,
  shape_id        INTEGER REFERENCES shape (id),
  cubin_hash      TEXT    NOT NULL,
  status          TEXT    NOT NULL CHECK (status IN ('ok', 'invalid_config', 'compile_failed',
                    'launch_failed', 'wrong_result', 'timed_out', 'crashed')),
  message         TEXT    NOT NULL,
  correct         INTEGER CHECK (correct IN (0, 1)),
  error           REAL,
  tolerance       REAL,
  verdict_message TEXT,
  started_utc     TEXT    NOT NULL
) STRICT;
INSERT INTO study_5 SELECT * FROM study;
DROP TABLE study;
ALTER TABLE study_5 RENAME TO study;

CREATE TABLE link (
  study_id INTEGER NOT NULL REFERENCES study (id),
  position INTEGER NOT NULL CHECK (position >= 0),
  shape_id INTEGER NOT NULL REFERENCES shape (id),
  pdl_off  TEXT    NOT NULL,
  pdl_on   TEXT    NOT NULL,
  PRIMARY KEY (study_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE study_sample (
  study_id      INTEGER NOT NULL REFERENCES study (id),
  label         TEXT    NOT NULL CHECK (label IN ('step', 'pdl_off', 'pdl_on', 'cublas')),
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL CHECK (pace IN ('shared', 'own', 'rested')),
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),
  sm_mhz        REAL    NOT NULL,
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,
  PRIMARY KEY (study_id, label, round)
) STRICT, WITHOUT ROWID;
INSERT INTO study_sample (study_id, label, round, pace, launches, time_us, sm_mhz, power_w,
                          temperature_c, clock_events)
  SELECT study_id, label, round, pace, launches, time_us, sm_mhz, power_w, temperature_c,
         clock_events
  FROM ladder;
DROP TABLE ladder;
)sql";

/// Races of brief effort came with this version.
inline constexpr const char* kMigration5To6 = R"sql(
ALTER TABLE race ADD COLUMN
  effort TEXT NOT NULL DEFAULT 'full' CHECK (effort IN ('full', 'brief'));
)sql";

}  // namespace hgemm
