-- Kernels are identified by their code, environments by the model of the GPU. Problems get a type
-- for each operand, and a key. Configs get families, so their axes are in their labels alone.
-- Studies state their findings in rows of one form. Words of which there will be more are checked
-- by the program.
--
-- Calls functions of the program: modern_label(text), modern_build_name(text), and problem_key(m,
-- n, k, dtype, lda, ldb, ldd). Kernels of old databases are identified by the hash of all kernel
-- sources.

CREATE TABLE environment_7 (
  id            INTEGER PRIMARY KEY,
  gpu_name      TEXT    NOT NULL,
  compute_major INTEGER NOT NULL,
  compute_minor INTEGER NOT NULL,
  sm_count      INTEGER NOT NULL,
  l2_bytes      INTEGER NOT NULL,
  memory_bytes  INTEGER NOT NULL,
  max_sm_mhz    INTEGER NOT NULL,
  power_limit_w REAL    NOT NULL,
  driver        TEXT    NOT NULL,
  cuda          TEXT    NOT NULL,
  cublas        TEXT    NOT NULL,
  UNIQUE (gpu_name, compute_major, compute_minor, sm_count, l2_bytes, memory_bytes, max_sm_mhz,
          power_limit_w, driver, cuda, cublas)
) STRICT;
INSERT OR IGNORE INTO environment_7 (gpu_name, compute_major, compute_minor, sm_count, l2_bytes,
                                     memory_bytes, max_sm_mhz, power_limit_w, driver, cuda, cublas)
  SELECT gpu_name, compute_major, compute_minor, sm_count, l2_bytes, memory_bytes, max_sm_mhz,
         power_limit_w, driver, cuda, cublas FROM environment ORDER BY id;

CREATE TABLE run_7 (
  id             INTEGER PRIMARY KEY,
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  gpu_uuid       TEXT    NOT NULL,
  host           TEXT    NOT NULL,
  git_revision   TEXT    NOT NULL,
  kernel_sources TEXT    NOT NULL,
  started_utc    TEXT    NOT NULL,
  command_line   TEXT    NOT NULL
) STRICT;
INSERT INTO run_7
  SELECT run.id, new.id, gpu_uuid, '', git_revision, kernel_hash, started_utc, command_line
  FROM run JOIN environment AS old ON old.id = environment_id
           JOIN environment_7 AS new USING (gpu_name, compute_major, compute_minor, sm_count, l2_bytes,
                                            memory_bytes, max_sm_mhz, power_limit_w, driver, cuda,
                                            cublas);

CREATE TABLE kernel (
  id       INTEGER PRIMARY KEY,
  identity TEXT    NOT NULL UNIQUE
) STRICT;
INSERT INTO kernel (identity)
  SELECT DISTINCT 'sources:' || kernel_hash FROM environment ORDER BY environment.id;
INSERT OR IGNORE INTO kernel (identity) SELECT DISTINCT 'sources:' || kernel_hash FROM build;

CREATE TABLE problem (
  id          INTEGER PRIMARY KEY,
  key         TEXT    NOT NULL UNIQUE,
  m           INTEGER NOT NULL,
  n           INTEGER NOT NULL,
  k           INTEGER NOT NULL,
  a_dtype     TEXT    NOT NULL,
  b_dtype     TEXT    NOT NULL,
  d_dtype     TEXT    NOT NULL,
  c_dtype     TEXT    NOT NULL,
  accumulator TEXT    NOT NULL,
  layout      TEXT    NOT NULL,
  lda         INTEGER NOT NULL,
  ldb         INTEGER NOT NULL,
  ldd         INTEGER NOT NULL,
  batch       INTEGER NOT NULL,
  scaling     TEXT    NOT NULL,
  epilogue    TEXT    NOT NULL
) STRICT;
INSERT INTO problem
  SELECT id, problem_key(m, n, k, dtype, lda, ldb, ldd), m, n, k, dtype, dtype, dtype, 'none', 'fp32',
         layout, lda, ldb, ldd, 1, 'none', 'plain'
  FROM shape;

CREATE TABLE candidate_7 (
  id    INTEGER PRIMARY KEY,
  label TEXT    NOT NULL UNIQUE
) STRICT;
INSERT OR IGNORE INTO candidate_7 (label) SELECT modern_label(label) FROM candidate ORDER BY id;
CREATE TEMP TABLE renamed AS
  SELECT old.id AS was, new.id AS is_now
  FROM candidate AS old JOIN candidate_7 AS new ON new.label = modern_label(old.label);
CREATE UNIQUE INDEX temp.renamed_by_id ON renamed (was);

CREATE TABLE build_7 (
  id                 INTEGER PRIMARY KEY,
  name               TEXT    NOT NULL,
  kernel_id          INTEGER NOT NULL REFERENCES kernel (id),
  source_key         TEXT    NOT NULL,
  compiler           TEXT    NOT NULL,
  flags              TEXT    NOT NULL,
  registers          INTEGER NOT NULL,
  spill_bytes        INTEGER NOT NULL,
  static_smem_bytes  INTEGER NOT NULL,
  dynamic_smem_bytes INTEGER NOT NULL,
  compile_ms         REAL    NOT NULL,
  UNIQUE (name, kernel_id, source_key, compiler, flags)
) STRICT;
INSERT OR IGNORE INTO build_7
  SELECT build.id, modern_build_name(label), kernel.id, 'sources:' || kernel_hash, compiler, flags,
         registers, spill_bytes, static_smem_bytes, dynamic_smem_bytes, compile_ms
  FROM build JOIN candidate ON candidate.id = candidate_id
             JOIN kernel ON identity = 'sources:' || kernel_hash;

CREATE TABLE race_7 (
  id          INTEGER PRIMARY KEY,
  uid         TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),
  run_id      INTEGER NOT NULL REFERENCES run (id),
  problem_id  INTEGER NOT NULL REFERENCES problem (id),
  regime      TEXT    NOT NULL,
  cold        INTEGER NOT NULL CHECK (cold IN (0, 1)),
  graph       INTEGER NOT NULL CHECK (graph IN (0, 1)),
  pdl         INTEGER NOT NULL CHECK (pdl IN (0, 1)),
  effort      TEXT    NOT NULL,
  tag         TEXT    NOT NULL,
  weight      REAL    NOT NULL,
  started_utc TEXT    NOT NULL
) STRICT;
INSERT INTO race_7
  SELECT id, uid, run_id, shape_id, regime, cold, graph, pdl, effort, tag, weight, started_utc FROM race;

CREATE TABLE trial_7 (
  id              INTEGER PRIMARY KEY,
  race_id         INTEGER NOT NULL REFERENCES race (id),
  candidate_id    INTEGER NOT NULL REFERENCES candidate (id),
  kernel_id       INTEGER REFERENCES kernel (id),
  stage           TEXT    NOT NULL,
  status          TEXT    NOT NULL,
  message         TEXT    NOT NULL,
  correct         INTEGER NOT NULL CHECK (correct IN (0, 1)),
  error           REAL,
  tolerance       REAL,
  verdict_message TEXT    NOT NULL,
  UNIQUE (race_id, candidate_id)
) STRICT;
INSERT INTO trial_7
  SELECT trial.id, race_id, is_now,
         CASE WHEN config.candidate_id IS NULL THEN NULL ELSE kernel.id END, stage, status, message,
         correct, error, tolerance, verdict_message
  FROM trial JOIN race ON race.id = race_id JOIN run ON run.id = run_id
             JOIN environment ON environment.id = environment_id
             JOIN kernel ON identity = 'sources:' || kernel_hash
             JOIN renamed ON was = trial.candidate_id
             LEFT JOIN config ON config.candidate_id = trial.candidate_id;

CREATE TABLE sample_7 (
  trial_id      INTEGER NOT NULL REFERENCES trial (id),
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL,
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),
  sm_mhz        REAL    NOT NULL,
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,
  PRIMARY KEY (trial_id, round)
) STRICT, WITHOUT ROWID;
INSERT INTO sample_7
  SELECT trial_id, round, pace, launches, time_us, sm_mhz, power_w, temperature_c, clock_events
  FROM sample;

CREATE TABLE attempt_7 (
  run_id       INTEGER PRIMARY KEY REFERENCES run (id),
  problem_id   INTEGER NOT NULL REFERENCES problem (id),
  candidate_id INTEGER NOT NULL REFERENCES candidate (id),
  kernel_id    INTEGER NOT NULL REFERENCES kernel (id),
  boot_id      TEXT    NOT NULL,
  started_utc  TEXT    NOT NULL
) STRICT;
INSERT INTO attempt_7
  SELECT run_id, shape_id, is_now, kernel.id, boot_id, attempt.started_utc
  FROM attempt JOIN run ON run.id = run_id JOIN environment ON environment.id = environment_id
               JOIN kernel ON identity = 'sources:' || kernel_hash
               JOIN renamed ON was = candidate_id;

CREATE TABLE study_7 (
  id              INTEGER PRIMARY KEY,
  uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),
  run_id          INTEGER NOT NULL REFERENCES run (id),
  kind            TEXT    NOT NULL,
  label           TEXT    NOT NULL,
  problem_id      INTEGER REFERENCES problem (id),
  kernel          TEXT    NOT NULL,
  status          TEXT    NOT NULL,
  message         TEXT    NOT NULL,
  correct         INTEGER CHECK (correct IN (0, 1)),
  error           REAL,
  tolerance       REAL,
  verdict_message TEXT,
  started_utc     TEXT    NOT NULL
) STRICT;
INSERT INTO study_7
  SELECT id, uid, run_id, kind, modern_label(label), shape_id, cubin_hash, status, message, correct,
         error, tolerance, verdict_message, started_utc
  FROM study;

CREATE TABLE figure (
  id       INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study (id),
  point    TEXT    NOT NULL,
  metric   TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  value    REAL    NOT NULL,
  low      REAL    NOT NULL,
  high     REAL    NOT NULL,
  samples  INTEGER NOT NULL,
  UNIQUE (study_id, point, metric)
) STRICT;
INSERT INTO figure (study_id, point, metric, unit, value, low, high, samples)
  SELECT study_id, '', metric, unit, value, low, high, samples FROM micro ORDER BY study_id, metric;
INSERT INTO figure (study_id, point, metric, unit, value, low, high, samples)
  SELECT study_id, role || '.' || phase, 'cycles', 'clk/' || unit, mean, mean, mean, count
  FROM (SELECT *, CASE count WHEN 0 THEN 0.0 ELSE cycles / count END AS mean FROM cycle)
  ORDER BY study_id, role, phase;
INSERT INTO figure (study_id, point, metric, unit, value, low, high, samples)
  SELECT study_id, source, metric, unit, value, value, value, 1 FROM counter
  ORDER BY study_id, metric;

CREATE TABLE part (
  study_id   INTEGER NOT NULL REFERENCES study (id),
  position   INTEGER NOT NULL CHECK (position >= 0),
  variant    TEXT    NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  label      TEXT    NOT NULL,
  PRIMARY KEY (study_id, position, variant)
) STRICT, WITHOUT ROWID;
INSERT INTO part
  SELECT study_id, position, 'pdl_off', shape_id, modern_label(pdl_off) FROM link
  UNION ALL
  SELECT study_id, position, 'pdl_on', shape_id, modern_label(pdl_on) FROM link;

CREATE TABLE study_sample_7 (
  study_id      INTEGER NOT NULL REFERENCES study (id),
  series        TEXT    NOT NULL,
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL,
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),
  sm_mhz        REAL    NOT NULL,
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,
  PRIMARY KEY (study_id, series, round)
) STRICT, WITHOUT ROWID;
INSERT INTO study_sample_7
  SELECT study_id, label, round, pace, launches, time_us, sm_mhz, power_w, temperature_c, clock_events
  FROM study_sample;

DROP TABLE renamed;
DROP TABLE link;
DROP TABLE micro;
DROP TABLE cycle;
DROP TABLE counter;
DROP TABLE study_sample;
DROP TABLE study;
DROP TABLE attempt;
DROP TABLE sample;
DROP TABLE trial;
DROP TABLE race;
DROP TABLE build;
DROP TABLE config;
DROP TABLE candidate;
DROP TABLE shape;
DROP TABLE run;
DROP TABLE environment;
ALTER TABLE environment_7 RENAME TO environment;
ALTER TABLE run_7 RENAME TO run;
ALTER TABLE candidate_7 RENAME TO candidate;
ALTER TABLE build_7 RENAME TO build;
ALTER TABLE race_7 RENAME TO race;
ALTER TABLE trial_7 RENAME TO trial;
ALTER TABLE sample_7 RENAME TO sample;
ALTER TABLE attempt_7 RENAME TO attempt;
ALTER TABLE study_7 RENAME TO study;
ALTER TABLE study_sample_7 RENAME TO study_sample;
CREATE INDEX race_by_problem ON race (problem_id);
CREATE INDEX build_by_source ON build (source_key);
