-- Adds studies, and fp32 problems, which the first steps of their ladder compute.

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
