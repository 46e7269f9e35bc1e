UPDATE problem SET m = 7
