UPDATE trial SET status = 'fine'
