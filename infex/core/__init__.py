"""The compiled core: ridge regression over arms, what decides, and the loops of whole runs.

`ridge` holds the statistics of one regression, `bank` and `hybrid` those of one for each arm, `estimators`
other ways of estimating. `posterior` is what a policy reads of them, `choosing` the built-in bases.
`fixed_arms` is the loop of a run over fixed arms, `general` that of all other runs, on the `models` and
`controls` beside it. The loops over arms are C (`loops.c`), all else is Cython.

State is a struct with named fields, and functions take a pointer to it. Draws come from NumPy's C functions
through the capsule of a bit generator, so they are those of `numpy.random.Generator`. Python sees classes
that own their memory and check what they are given: nothing here reads memory that it was not given.
"""
