CREATE INDEX i ON sample (time_us)
