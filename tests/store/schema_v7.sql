-- Schema of a hgemm-tune database. src/store is the only code that writes it; anything may read it.
-- Rows are only ever added, except that a trial is brought up to date while its race runs,
-- and that an attempt goes when it is over.
--
-- REAL columns that may be NaN hold NULL instead: SQLite has no NaN. Which words a TEXT column may have
-- is for the program to say (it refuses others when it reads), so that a new word needs no migration.
-- A change of this file is a new user_version and a file in src/store/migrations.

PRAGMA application_id = 0x48474d54;  -- "HGMT"
PRAGMA user_version = 7;

-- What results are grouped by: the model of a GPU with its limits, and the software. Equal environments
-- are one row.
CREATE TABLE environment (
  id            INTEGER PRIMARY KEY,
  gpu_name      TEXT    NOT NULL,
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
  UNIQUE (gpu_name, compute_major, compute_minor, sm_count, l2_bytes, memory_bytes, max_sm_mhz,
          power_limit_w, driver, cuda, cublas)
) STRICT;

-- One invocation of the program on one card.
CREATE TABLE run (
  id             INTEGER PRIMARY KEY,
  environment_id INTEGER NOT NULL REFERENCES environment (id),
  gpu_uuid       TEXT    NOT NULL,
  host           TEXT    NOT NULL,  -- empty: recorded before version 7
  git_revision   TEXT    NOT NULL,  -- of the program
  kernel_sources TEXT    NOT NULL,  -- hash of kernels/ without comments (before version 7: with them)
  started_utc    TEXT    NOT NULL,  -- ISO 8601
  command_line   TEXT    NOT NULL
) STRICT;

-- A GEMM problem. `key` says everything; the other columns repeat it for queries by hand. Leading
-- dimensions are elements from one row of A, B and D to the next.
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

-- What is timed: the label of a config of ours, or a library's algorithm ("cublas", "cublaslt.<index>").
-- A label names the config's family and its value of each axis.
CREATE TABLE candidate (
  id    INTEGER PRIMARY KEY,
  label TEXT    NOT NULL UNIQUE
) STRICT;

-- What ran: the hash of a cubin's code; "source:<key>" of a kernel that was not built; "sources:<hash>"
-- of all kernels of a state of kernels/, in what was recorded before version 7.
CREATE TABLE kernel (
  id       INTEGER PRIMARY KEY,
  identity TEXT    NOT NULL UNIQUE
) STRICT;

-- A kernel compiled from its sources by one compiler with one set of flags.
CREATE TABLE build (
  id                 INTEGER PRIMARY KEY,
  name               TEXT    NOT NULL,  -- label, types, and extents where they are constants
  kernel_id          INTEGER NOT NULL REFERENCES kernel (id),
  source_key         TEXT    NOT NULL,  -- hash of all that was compiled, without comments
  compiler           TEXT    NOT NULL,
  flags              TEXT    NOT NULL,
  registers          INTEGER NOT NULL,
  spill_bytes        INTEGER NOT NULL,
  static_smem_bytes  INTEGER NOT NULL,
  dynamic_smem_bytes INTEGER NOT NULL,
  compile_ms         REAL    NOT NULL,
  UNIQUE (name, kernel_id, source_key, compiler, flags)
) STRICT;
CREATE INDEX build_by_source ON build (source_key);

-- Trials measured together at one problem. Ratios are only taken within a race.
CREATE TABLE race (
  id          INTEGER PRIMARY KEY,
  uid         TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),  -- the same in every database
  run_id      INTEGER NOT NULL REFERENCES run (id),
  problem_id  INTEGER NOT NULL REFERENCES problem (id),
  regime      TEXT    NOT NULL,  -- sustained, burst
  cold        INTEGER NOT NULL CHECK (cold IN (0, 1)),   -- 0: inputs were found in L2
  graph       INTEGER NOT NULL CHECK (graph IN (0, 1)),  -- 0: launches on a stream
  pdl         INTEGER NOT NULL CHECK (pdl IN (0, 1)),    -- all launched with PDL
  effort      TEXT    NOT NULL,  -- full, brief
  tag         TEXT    NOT NULL,  -- tag and weight describe the problem, as given to this race
  weight      REAL    NOT NULL,
  started_utc TEXT    NOT NULL
) STRICT;
CREATE INDEX race_by_problem ON race (problem_id);

-- A candidate in a race, ended in one status.
CREATE TABLE trial (
  id              INTEGER PRIMARY KEY,
  race_id         INTEGER NOT NULL REFERENCES race (id),
  candidate_id    INTEGER NOT NULL REFERENCES candidate (id),
  kernel_id       INTEGER REFERENCES kernel (id),  -- NULL: a library's
  stage           TEXT    NOT NULL,  -- none, screen, final
  status          TEXT    NOT NULL,  -- ok, invalid_config, compile_failed, launch_failed, wrong_result,
                                     -- timed_out, crashed
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
  pace          TEXT    NOT NULL,  -- shared, own, rested
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

-- The first launch of a kernel at a problem that is under way; what a run left here when it ended took
-- the machine down with it, if that has booted since. Not merged: it is about one machine's present.
CREATE TABLE attempt (
  run_id       INTEGER PRIMARY KEY REFERENCES run (id),
  problem_id   INTEGER NOT NULL REFERENCES problem (id),
  candidate_id INTEGER NOT NULL REFERENCES candidate (id),
  kernel_id    INTEGER NOT NULL REFERENCES kernel (id),
  boot_id      TEXT    NOT NULL,  -- of Linux: another one at every boot
  started_utc  TEXT    NOT NULL
) STRICT;

-- What a study command (micro, probe, counters, ladder, chain) found out about one subject, ended in
-- one status. A study is recorded once, whole.
CREATE TABLE study (
  id              INTEGER PRIMARY KEY,
  uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),  -- the same in every database
  run_id          INTEGER NOT NULL REFERENCES run (id),
  kind            TEXT    NOT NULL,  -- the name of a study in the program's registry
  label           TEXT    NOT NULL,  -- of a microbenchmark, config, ladder step, baseline or chain
  problem_id      INTEGER REFERENCES problem (id),  -- NULL: it has none, or, a chain, several
  kernel          TEXT    NOT NULL,  -- hash of the code that ran; empty: a library's, or not compiled
  status          TEXT    NOT NULL,  -- as of a trial
  message         TEXT    NOT NULL,  -- why not ok, or a remark
  correct         INTEGER CHECK (correct IN (0, 1)),  -- NULL: no output was compared
  error           REAL,              -- largest scaled error; NULL: the output had a NaN, or see above
  tolerance       REAL,
  verdict_message TEXT,
  started_utc     TEXT    NOT NULL   -- ISO 8601
) STRICT;

-- A finding of a study: a metric of one of its points. `samples` measurements or counted things.
CREATE TABLE figure (
  id       INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study (id),
  point    TEXT    NOT NULL,  -- "consumer.mma_wait", a hardware metric, or empty
  metric   TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  value    REAL    NOT NULL,
  low      REAL    NOT NULL,  -- the interval of the value; low = value = high where there is none
  high     REAL    NOT NULL,
  samples  INTEGER NOT NULL,
  UNIQUE (study_id, point, metric)
) STRICT;

-- A raw trace, kept apart from figures. A stretch of time of one role of one CTA: a line of a timeline.
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

-- One of several problems that a study is of, and what computes it in a variant of the study.
CREATE TABLE part (
  study_id   INTEGER NOT NULL REFERENCES study (id),
  position   INTEGER NOT NULL CHECK (position >= 0),
  variant    TEXT    NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  label      TEXT    NOT NULL,
  PRIMARY KEY (study_id, position, variant)
) STRICT, WITHOUT ROWID;

-- One timed batch of one of the things that a study compares in rounds ("step", "cublas", "pdl_on").
-- Columns as in sample.
CREATE TABLE study_sample (
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
