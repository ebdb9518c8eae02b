# expect: failed
# fault: submission
# reason: expandable segments|cannot be shared
# problem: basics/vectoradd
# Such memory has no handle that another process could open: the referee cannot read what lies in it.
import torch

torch.cuda.memory._set_allocator_settings("expandable_segments:True")
torch.cuda.empty_cache()


def kernel(a, b):
    return a + b
