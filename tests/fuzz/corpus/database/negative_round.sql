UPDATE sample SET round = -1
