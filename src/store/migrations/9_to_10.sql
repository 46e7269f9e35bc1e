-- Adds the time of single calls.

CREATE TABLE call_time (
  trial_id  INTEGER PRIMARY KEY REFERENCES trial (id),
  calls     INTEGER NOT NULL CHECK (calls > 0),
  host_us   REAL    NOT NULL CHECK (host_us > 0),  -- median time of the host in a call
  kernels   INTEGER NOT NULL CHECK (kernels >= 0), -- of one call; 0: CUPTI was not asked
  kernel_us REAL    CHECK (kernel_us > 0)          -- from the start of its first kernel to the end
                                                   -- of its last, median; NULL: as above
) STRICT;
