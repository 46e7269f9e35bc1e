-- Schema of a hgemm-tune database. src/store is the only code that writes it; any program may read
-- it. Rows are only added, with two exceptions: a trial is updated while its race runs, and an
-- attempt is deleted when it is over.
--
-- REAL columns that may be NaN hold NULL instead, because SQLite has no NaN. The program decides
-- which words a TEXT column may hold (it refuses others when it reads), so that a new word needs no
-- migration.
--
-- A checksum is the sum modulo 2^64 of a hash of each row that belongs to the race or study: its
-- own row and those of its trials, samples and energies, or of its figures, spans, parts and
-- samples. Rows that these refer to are hashed by content, so that ids may differ between
-- databases. The checksum finds damage: a flipped bit, a lost row. It is no seal, because anyone
-- who can change a row can change the sum. A migration that changes the content of such a row must
-- set the checksum to NULL.
--
-- Each change of this file, except of comments, needs a new user_version and a file in
-- src/store/migrations.

PRAGMA application_id = 0x48474d54;  -- "HGMT"
PRAGMA user_version = 9;

-- Results are grouped by environment: the model of a GPU with its limits, and the software. Equal
-- environments share one row.
CREATE TABLE environment (
  id            INTEGER PRIMARY KEY,
  gpu_name      TEXT    NOT NULL,
  compute_major INTEGER NOT NULL,
  compute_minor INTEGER NOT NULL,
  sm_count      INTEGER NOT NULL,
  l2_bytes      INTEGER NOT NULL,
  memory_bytes  INTEGER NOT NULL,
  max_sm_mhz    INTEGER NOT NULL,
  power_limit_w REAL    NOT NULL,  -- 0: NVML was not available
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

-- A GEMM problem. `key` is complete; the other columns repeat it for queries by hand. Leading
-- dimensions are the elements from one row of A, B or D to the next.
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

-- Something that is timed: the label of a config, or of a library's algorithm ("cublas",
-- "cublaslt.<index>"). A config's label names its family and its value of each axis.
CREATE TABLE candidate (
  id    INTEGER PRIMARY KEY,
  label TEXT    NOT NULL UNIQUE
) STRICT;

-- Identity of the code that ran: the hash of a cubin's code; "source:<key>" for a kernel that was
-- not built; before version 7 "sources:<hash>" of all files in kernels/.
CREATE TABLE kernel (
  id       INTEGER PRIMARY KEY,
  identity TEXT    NOT NULL UNIQUE
) STRICT;

-- A kernel compiled from its sources by one compiler with one set of flags.
CREATE TABLE build (
  id                 INTEGER PRIMARY KEY,
  name               TEXT    NOT NULL,  -- label, types, and extents where they are constants
  kernel_id          INTEGER NOT NULL REFERENCES kernel (id),
  source_key         TEXT    NOT NULL,  -- hash of all compiled sources, without comments
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
  cold        INTEGER NOT NULL CHECK (cold IN (0, 1)),   -- 0: inputs were in L2
  graph       INTEGER NOT NULL CHECK (graph IN (0, 1)),  -- 0: launched on a stream
  pdl         INTEGER NOT NULL CHECK (pdl IN (0, 1)),    -- 1: all launched with PDL
  effort      TEXT    NOT NULL,  -- full, brief
  tag         TEXT    NOT NULL,  -- tag and weight describe the problem, as given to this race
  weight      REAL    NOT NULL,
  started_utc TEXT    NOT NULL,
  checksum    INTEGER,  -- NULL: recorded before version 8
  -- GPUs of the same host that the run kept busy beside this one when the race was first recorded;
  -- NULL: recorded before version 9
  neighbours  INTEGER CHECK (neighbours >= 0)
) STRICT;
CREATE INDEX race_by_problem ON race (problem_id);

-- A candidate in a race; it ends in one status.
CREATE TABLE trial (
  id              INTEGER PRIMARY KEY,
  race_id         INTEGER NOT NULL REFERENCES race (id),
  candidate_id    INTEGER NOT NULL REFERENCES candidate (id),
  kernel_id       INTEGER REFERENCES kernel (id),  -- NULL: a library's kernel
  stage           TEXT    NOT NULL,  -- none, screen, final
  status          TEXT    NOT NULL,  -- ok, invalid_config, compile_failed, launch_failed, wrong_result,
                                     -- timed_out, crashed
  message         TEXT    NOT NULL,  -- why not ok, or a description of a cuBLASLt algorithm
  correct         INTEGER NOT NULL CHECK (correct IN (0, 1)),
  error           REAL,              -- largest scaled error; NULL: the output had a NaN
  tolerance       REAL,
  verdict_message TEXT    NOT NULL,
  UNIQUE (race_id, candidate_id)
) STRICT;

-- One timed batch of a trial. A round visits once each candidate that is still in the race.
-- power_w, temperature_c and clock_events (bits of NVML's reasons) are NULL if NVML was not
-- available.
CREATE TABLE sample (
  trial_id      INTEGER NOT NULL REFERENCES trial (id),
  round         INTEGER NOT NULL CHECK (round >= 0),
  pace          TEXT    NOT NULL,  -- shared, own, rested
  launches      INTEGER NOT NULL CHECK (launches > 0),
  time_us       REAL    NOT NULL CHECK (time_us > 0),  -- of one launch
  sm_mhz        REAL    NOT NULL,                      -- 0: the clock was not read
  power_w       REAL,
  temperature_c INTEGER,
  clock_events  INTEGER,
  cycles        REAL    GENERATED ALWAYS AS (time_us * sm_mhz) VIRTUAL,  -- of one launch
  PRIMARY KEY (trial_id, round)
) STRICT, WITHOUT ROWID;

-- One candidate running alone at full load for a window of seconds.
CREATE TABLE energy (
  trial_id INTEGER PRIMARY KEY REFERENCES trial (id),
  window_s REAL NOT NULL CHECK (window_s > 0),
  power_w  REAL NOT NULL,
  time_us  REAL NOT NULL CHECK (time_us > 0),  -- of one launch
  joules   REAL GENERATED ALWAYS AS (power_w * time_us * 1e-6) VIRTUAL  -- of one launch
) STRICT;

-- The first launch of a kernel at a problem, while it is under way. If a run left a row here and
-- the machine has booted since, that launch took the machine down. Not merged: a row is about the
-- present of one machine.
CREATE TABLE attempt (
  run_id       INTEGER PRIMARY KEY REFERENCES run (id),
  problem_id   INTEGER NOT NULL REFERENCES problem (id),
  candidate_id INTEGER NOT NULL REFERENCES candidate (id),
  kernel_id    INTEGER NOT NULL REFERENCES kernel (id),
  boot_id      TEXT    NOT NULL,  -- of Linux: changes at every boot
  started_utc  TEXT    NOT NULL
) STRICT;

-- A finding of a study command (micro, probe, counters, ladder, chain), or of a tune's pace check
-- (pace), about one subject; it ends in one status. A study is recorded at once, complete.
CREATE TABLE study (
  id              INTEGER PRIMARY KEY,
  uid             TEXT    NOT NULL UNIQUE CHECK (length(uid) = 32),  -- the same in every database
  run_id          INTEGER NOT NULL REFERENCES run (id),
  kind            TEXT    NOT NULL,  -- pace, or name of a study in the program's registry
  label           TEXT    NOT NULL,  -- of a microbenchmark, config, ladder step, baseline or chain
  problem_id      INTEGER REFERENCES problem (id),  -- NULL: it has no problem or, as a chain,
                                                    -- several
  kernel          TEXT    NOT NULL,  -- hash of the code that ran; empty: a library's kernel, or not
                                     -- compiled
  status          TEXT    NOT NULL,  -- one of the statuses of a trial
  message         TEXT    NOT NULL,  -- why not ok, or a remark
  correct         INTEGER CHECK (correct IN (0, 1)),  -- NULL: no output was compared
  error           REAL,              -- largest scaled error; NULL: the output had a NaN, or none
                                     -- was compared
  tolerance       REAL,
  verdict_message TEXT,
  started_utc     TEXT    NOT NULL,  -- ISO 8601
  checksum        INTEGER            -- NULL: recorded before version 8
) STRICT;

-- A finding of a study: one metric of one of its points. `samples` counts measurements or items.
CREATE TABLE figure (
  id       INTEGER PRIMARY KEY,
  study_id INTEGER NOT NULL REFERENCES study (id),
  point    TEXT    NOT NULL,  -- "consumer.mma_wait", a hardware metric, or empty
  metric   TEXT    NOT NULL,
  unit     TEXT    NOT NULL,
  value    REAL    NOT NULL,
  low      REAL    NOT NULL,  -- interval of the value; low = value = high if there is none
  high     REAL    NOT NULL,
  samples  INTEGER NOT NULL,
  UNIQUE (study_id, point, metric)
) STRICT;

-- A raw trace, kept apart from figures. A span is a stretch of time of one role of one CTA: a bar
-- in a timeline.
CREATE TABLE span (
  study_id INTEGER NOT NULL REFERENCES study (id),
  sm       INTEGER NOT NULL,
  cta      INTEGER NOT NULL,
  role     TEXT    NOT NULL,
  phase    TEXT    NOT NULL,
  tile     INTEGER NOT NULL,  -- position in the tile order; -1: not about one tile
  start_ns REAL    NOT NULL,  -- since the first time stamp of the launch
  end_ns   REAL    NOT NULL
) STRICT;
CREATE INDEX span_by_study ON span (study_id);

-- One of the problems of a study with several, and the candidate that computes it in a variant of
-- the study.
CREATE TABLE part (
  study_id   INTEGER NOT NULL REFERENCES study (id),
  position   INTEGER NOT NULL CHECK (position >= 0),
  variant    TEXT    NOT NULL,
  problem_id INTEGER NOT NULL REFERENCES problem (id),
  label      TEXT    NOT NULL,
  PRIMARY KEY (study_id, position, variant)
) STRICT, WITHOUT ROWID;

-- One timed batch of one of the things that a study compares in rounds ("step", "cublas",
-- "pdl_on"). Columns have the same meaning as in sample.
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
