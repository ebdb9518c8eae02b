def kernal(a, b):
    return a + b
