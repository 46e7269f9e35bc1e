-- Adds leading dimensions; chains (another kind of study) with their links; and samples of ladder
-- steps and of chains.

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
