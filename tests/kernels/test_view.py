"""What a user's kernel reads: every function of the view is public."""

import inspect

import infex

MADE_BY_LOOPS = {"viewed", "counts"}  # which a kernel does not call: `pulls` and `sums` read the counts


def test_all_that_a_kernel_may_call_is_listed() -> None:
    own = {
        name
        for name, thing in vars(infex.view).items()
        if not name.startswith("_") and inspect.getmodule(thing) is infex.view
    }
    assert own - MADE_BY_LOOPS == set(infex.view.__all__)
