UPDATE problem SET key = '64x64'
