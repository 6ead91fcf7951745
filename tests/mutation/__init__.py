"""A mutation tester: it breaks the code in small ways, one at a time, and says which of them no test notices.

    python -m mutation protocol/loom.py model      # with tests/ on the path; `make mutate` does all rooms

Why an own one: mutmut 3 leaves out functions with decorators, which here are properties and context managers, and runs
in a copy of the sources, where all kernels are compiled anew; it also lets Hypothesis shrink every failure.
"""
