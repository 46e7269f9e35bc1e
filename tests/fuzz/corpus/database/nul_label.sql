UPDATE candidate SET label = 'a' || char(0) || 'b'
