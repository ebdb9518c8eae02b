def kernel(a, b):
    blocks = []
    while True:
        blocks.append(b"\1" * (64 << 20))
