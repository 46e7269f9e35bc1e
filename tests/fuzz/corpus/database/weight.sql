UPDATE race SET weight = -9e999
