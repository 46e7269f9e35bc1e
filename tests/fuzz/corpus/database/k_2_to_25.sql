UPDATE problem SET key = '64x64x33554432', m = 64, n = 64, k = 33554432
