UPDATE race SET tag = '$..$'
