# expect: failed
# fault: submission
# reason: within [\d.]+ s
# problem: basics/vectoradd
# limits: call_s=2


def kernel(a, b):
    while True:
        pass
