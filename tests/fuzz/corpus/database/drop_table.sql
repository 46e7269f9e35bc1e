PRAGMA foreign_keys=OFF; DROP TABLE sample
