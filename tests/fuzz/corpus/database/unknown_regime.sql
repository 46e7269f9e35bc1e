UPDATE race SET regime = ''
