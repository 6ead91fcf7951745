"""Tables and figures of the papers, repeated: an engine, and one module a paper beside what the paper states.

`papers/` says what to run for each table and figure, `runs/` which parameters each kind of run has, `measures/` how
its figures are measured, `engine/` carries runs out and compares their figures with the paper's. Naming experiments and
planning runs loads no simulator: a run imports its measure when it is carried out.
"""
