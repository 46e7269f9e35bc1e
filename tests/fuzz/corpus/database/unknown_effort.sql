UPDATE race SET effort = 'x'
