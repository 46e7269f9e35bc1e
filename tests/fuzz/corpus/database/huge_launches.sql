UPDATE sample SET launches = 4294967297
