CREATE TABLE extra (x)
