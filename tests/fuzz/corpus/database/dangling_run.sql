PRAGMA foreign_keys=OFF; DELETE FROM run; DELETE FROM problem
