PRAGMA writable_schema=1; UPDATE sqlite_schema SET sql = 'CREATE TABLE race (id)' WHERE name = 'race'
