def kernel(a, b):
    raise ValueError("tile of 48 does not divide the rows")
