UPDATE candidate SET label = 'a' || char(10) || char(27) || '[2J'
