"""EXPECT: accepted
PROBLEM: basics/vectoradd
FAMILY: odd but honest
HOW: writes the source of its kernel at load and executes it, as code generators do.
"""

SOURCE = """
def {name}(a, b):
    return a {operator} b
"""

namespace = {}
exec(SOURCE.format(name="generated_add", operator="+"), namespace)


def kernel(a, b):
    return namespace["generated_add"](a, b)
