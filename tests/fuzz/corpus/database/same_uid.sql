UPDATE race SET uid = ''
