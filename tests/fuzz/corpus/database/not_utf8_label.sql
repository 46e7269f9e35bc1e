UPDATE candidate SET label = CAST(x'fffe' AS TEXT)
