-- Schema of a hgemm-tune database. src/store is the only code that writes it; anything may read it.
-- Rows are only ever added, except that a trial is brought up to date while its race runs,
-- and that an attempt goes when it is over.
--
-- REAL columns that may be NaN hold NULL instead: SQLite has no NaN.
-- A change of this file is a new user_version and a migration in src/store/migrations.h.

PRAGMA application_id = 0x48474d54;  -- "HGMT"
PRAGMA user_version = 6;

-- Where trials ran. Equal environments are one row.
CREATE TABLE environment (
  id            INTEGER PRIMARY KEY,
  gpu_name      TEXT    NOT NULL,
  gpu_uuid      TEXT    NOT NULL,
  compute_major INTEGER NOT NULL,
  compute_minor INTEGER NOT NULL,
  sm_count      INTEGER NOT NULL,
  l2_bytes      INTEGER NOT NULL,
  memory_bytes  INTEGER NOT NULL,
  max_sm_mhz    INTEGER NOT NULL,
  power_limit_w REAL    NOT NULL,  -- 0: NVML was not there
  driver        TEXT    NOT NULL,
  cuda          TEXT    NOT NULL,
  cublas        TEXT    NOT NULL,
  nvrtc         TEXT    NOT NULL,
  kernel_hash   TEXT    NOT NULL,  -- of every file in kernels/
  git_revision  TEXT    NOT NULL,
  UNIQUE (gpu_name, gpu_uuid, compute_major, compute_minor, sm_count, l2_bytes, memory_bytes,
          max_sm_mhz, power_limit_w, driver, cuda, cublas, nvrtc, kernel_hash, git_revision)
) STRICT;

-- One invocation of the program.
CREATE TABLE run (
  id             INTEGER PRIMARY KEY,
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  started_utc    TEXT    NOT NULL,  -- ISO 8601
  command_line   TEXT    NOT NULL
) STRICT;

-- A GEMM problem: D[m x n] = A[m x k] * B[n x k]^T. Leading dimensions are elements from one row of A,
-- B and D to the next.
CREATE TABLE shape (
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

-- What is timed: a config of ours, or a library's algorithm ("cublas", "cublaslt.<index>").
CREATE TABLE candidate (
  id    INTEGER PRIMARY KEY,
  label TEXT    NOT NULL UNIQUE
) STRICT;

-- The axes of candidates that are configs, as written in their labels: which words there are is the
-- label's to say.
CREATE TABLE config (
  candidate_id INTEGER PRIMARY KEY REFERENCES candidate (id),
  bm           INTEGER NOT NULL,
  bn           INTEGER NOT NULL,
  bk           INTEGER NOT NULL,
  stages       INTEGER NOT NULL,
  cluster_m    INTEGER NOT NULL,
  cluster_n    INTEGER NOT NULL,
  schedule     TEXT    NOT NULL,  -- how consumers share the work: coop, cols, pp
  consumers    INTEGER NOT NULL,
  mma_depth    INTEGER NOT NULL,
  tile_order   TEXT    NOT NULL,
  epilogue     TEXT    NOT NULL,
  walk         TEXT    NOT NULL,  -- persist, dynamic, single, split<parts>, csplit<parts>, stream
  dtype        TEXT    NOT NULL CHECK (dtype IN ('bf16', 'fp16')),
  options      TEXT    NOT NULL   -- the label's fields after the type: "blast.pdl", or empty
) STRICT;

-- A config compiled from one state of kernels/ by one compiler with one set of flags. cubin_hash is
-- empty if that failed. A trial's build has the trial's candidate_id and its environment's
-- kernel_hash.
CREATE TABLE build (
  id                 INTEGER PRIMARY KEY,
  candidate_id       INTEGER NOT NULL REFERENCES config (candidate_id),
  kernel_hash        TEXT    NOT NULL,
  compiler           TEXT    NOT NULL,
  flags              TEXT    NOT NULL,
  cubin_hash         TEXT    NOT NULL,
  registers          INTEGER NOT NULL,
  spill_bytes        INTEGER NOT NULL,
  static_smem_bytes  INTEGER NOT NULL,
  dynamic_smem_bytes INTEGER NOT NULL,
  compile_ms         REAL    NOT NULL,
  UNIQUE (candidate_id, kernel_hash, compiler, flags, cubin_hash)
) STRICT;

-- Trials measured together at one shape. Ratios are only taken within a race.
CREATE TABLE race (
  id          INTEGER PRIMARY KEY,
  uid         TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),  -- the same in every database
  run_id      INTEGER NOT NULL REFERENCES run (id),
  shape_id    INTEGER NOT NULL REFERENCES shape (id),
  regime      TEXT    NOT NULL CHECK (regime IN ('sustained', 'burst')),
  cold        INTEGER NOT NULL CHECK (cold IN (0, 1)),   -- 0: inputs were found in L2
  graph       INTEGER NOT NULL CHECK (graph IN (0, 1)),  -- 0: launches on a stream
  pdl         INTEGER NOT NULL CHECK (pdl IN (0, 1)),    -- all launched with PDL
  tag         TEXT    NOT NULL,  -- tag and weight describe the shape, as given to this race
  weight      REAL    NOT NULL,
  started_utc TEXT    NOT NULL,
  effort      TEXT    NOT NULL DEFAULT 'full' CHECK (effort IN ('full', 'brief'))
) STRICT;
CREATE INDEX race_by_shape ON race (shape_id);

-- A candidate in a race, ended in one status.
CREATE TABLE trial (
  id              INTEGER PRIMARY KEY,
  race_id         INTEGER NOT NULL REFERENCES race (id),
  candidate_id    INTEGER NOT NULL REFERENCES candidate (id),
  stage           TEXT    NOT NULL CHECK (stage IN ('none', 'screen', 'final')),
  status          TEXT    NOT NULL CHECK (status IN ('ok', 'invalid_config', 'compile_failed',
                    'launch_failed', 'wrong_result', 'timed_out', 'crashed')),
  message         TEXT    NOT NULL,  -- why not ok, or a cuBLASLt algorithm in words
  correct         INTEGER NOT NULL CHECK (correct IN (0, 1)),
  error           REAL,              -- largest scaled error; NULL: the output had a NaN
  tolerance       REAL,
  verdict_message TEXT    NOT NULL,
  UNIQUE (race_id, candidate_id)
) STRICT;

-- One timed batch of a trial. A round visits every candidate of the race that is still in it once.
-- power_w, temperature_c and clock_events (bits of NVML's reasons) are NULL where NVML was not there.
CREATE TABLE sample (
  trial_id      INTEGER NOT NULL REFERENCES trial (id),
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL CHECK (pace IN ('shared', 'own', 'rested')),
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),  -- of one launch
  sm_mhz        REAL    NOT NULL,                      -- 0: no clock was read
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,  -- of one launch
  PRIMARY KEY (trial_id, round)
) STRICT, WITHOUT ROWID;

-- A trial's candidate run alone at full load for a window of seconds.
CREATE TABLE energy (
  trial_id INTEGER PRIMARY KEY REFERENCES trial (id),
  window_s REAL NOT NULL CHECK (window_s > 0),
  power_w  REAL NOT NULL,
  time_us  REAL NOT NULL CHECK (time_us > 0),  -- of one launch
  joules   REAL GENERATED ALWAYS AS (power_w * time_us * 1e-6) VIRTUAL  -- of one launch
) STRICT;

-- The first launch of a config at a shape that is under way; what a run left here when it ended took
-- the machine down with it, if that has booted since. Not merged: it is about one machine's present.
CREATE TABLE attempt (
  run_id       INTEGER PRIMARY KEY REFERENCES run (id),
  shape_id     INTEGER NOT NULL REFERENCES shape (id),
  candidate_id INTEGER NOT NULL REFERENCES candidate (id),
  boot_id      TEXT    NOT NULL,  -- of Linux: another one at every boot
  started_utc  TEXT    NOT NULL
) STRICT;

-- What a study command (micro, probe, counters, ladder, chain) found out about one subject, ended in
-- one status. Its figures are in the tables below; which ones depends on its kind. A study is
-- recorded once, whole.
CREATE TABLE study (
  id              INTEGER PRIMARY KEY,
  uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),  -- the same in every database
  run_id          INTEGER NOT NULL REFERENCES run (id),
  kind            TEXT    NOT NULL CHECK (kind IN ('micro', 'probe', 'counters', 'ladder',
                    'chain')),
  label           TEXT    NOT NULL,  -- of a microbenchmark, config, ladder step, baseline or chain
  shape_id        INTEGER REFERENCES shape (id),  -- NULL: it has none, or, a chain, several
  cubin_hash      TEXT    NOT NULL,  -- empty: a library's kernel, or it did not compile
  status          TEXT    NOT NULL CHECK (status IN ('ok', 'invalid_config', 'compile_failed',
                    'launch_failed', 'wrong_result', 'timed_out', 'crashed')),
  message         TEXT    NOT NULL,  -- why not ok, or a remark
  correct         INTEGER CHECK (correct IN (0, 1)),  -- NULL: no output was compared
  error           REAL,              -- largest scaled error; NULL: the output had a NaN, or see above
  tolerance       REAL,
  verdict_message TEXT,
  started_utc     TEXT    NOT NULL   -- ISO 8601
) STRICT;

-- A figure of a microbenchmark: the median of `samples` repetitions, the least and the largest.
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

-- SM cycles that one role of a kernel spent in one phase: `count` times (of what `unit` says) took
-- `cycles` in all.
CREATE TABLE cycle (
  study_id INTEGER NOT NULL REFERENCES study (id),
  role     TEXT    NOT NULL,
  phase    TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  count    INTEGER NOT NULL,
  cycles   REAL    NOT NULL,
  PRIMARY KEY (study_id, role, phase)
) STRICT, WITHOUT ROWID;

-- A stretch of time of one role of one CTA: a line of a timeline.
CREATE TABLE span (
  study_id INTEGER NOT NULL REFERENCES study (id),
  sm       INTEGER NOT NULL,
  cta      INTEGER NOT NULL,
  role     TEXT    NOT NULL,
  phase    TEXT    NOT NULL,
  tile     INTEGER NOT NULL,  -- position in the tile order; -1: not about one tile
  start_ns REAL    NOT NULL,  -- since the first stamp of the launch
  end_ns   REAL    NOT NULL
) STRICT;
CREATE INDEX span_by_study ON span (study_id);

-- What the hardware counted while a kernel ran once.
CREATE TABLE counter (
  study_id INTEGER NOT NULL REFERENCES study (id),
  metric   TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  value    REAL    NOT NULL,
  source   TEXT    NOT NULL,  -- the hardware metric that it is
  PRIMARY KEY (study_id, metric)
) STRICT, WITHOUT ROWID;

-- A GEMM of a chain and the configs that compute it, without and with PDL.
CREATE TABLE link (
  study_id INTEGER NOT NULL REFERENCES study (id),
  position INTEGER NOT NULL CHECK (position >= 0),
  shape_id INTEGER NOT NULL REFERENCES shape (id),
  pdl_off  TEXT    NOT NULL,
  pdl_on   TEXT    NOT NULL,
  PRIMARY KEY (study_id, position)
) STRICT, WITHOUT ROWID;

-- One timed batch of a ladder step or of a chain without or with PDL (a launch is the whole chain),
-- or of cublas beside it in the same round. Columns as in sample.
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
