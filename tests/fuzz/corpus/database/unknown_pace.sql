UPDATE sample SET pace = 'x'
