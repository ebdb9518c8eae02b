kernel = 42
