UPDATE run SET host = printf('%.*c', 900000, 'x')
