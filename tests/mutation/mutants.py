"""The ways in which a module is broken: each mutant is the module's tree with one node changed.

Left out: annotations, decorators, docstrings and other texts, since tests should not hold on to wording; what `raise`
says; asserts, `check_invariants` and `strict` of zip, which are themselves checks; what type checkers alone read.
"""

import ast
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial

PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn), (ast.Is, ast.IsNot)),
    *(
        (ast.And, ast.Or),
        (ast.Add, ast.Sub),
        (ast.BitAnd, ast.BitOr),
        (ast.LShift, ast.RShift),
        (ast.FloorDiv, ast.Mult),
    ),
)
OTHER: dict[type, type] = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
OTHER |= {ast.Div: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult, ast.BitXor: ast.BitOr}
OTHER_NAME = {"min": "max", "max": "min", "any": "all", "all": "any"}
UNTOUCHED = (ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.MatchValue, ast.MatchClass)

Change = Callable[[ast.AST], ast.AST | None]


@dataclass(frozen=True)
class Mutant:
    line: int
    before: str
    after: str
    make: Callable[[], ast.Module]  # a room has thousands, and most are left out of an estimate

    @property
    def tree(self) -> ast.Module:
        return self.make()

    @property
    def name(self) -> str:
        """The first lines of what was, and of what is instead."""
        return f"{self.before.splitlines()[0]} -> {self.after.splitlines()[0]}"


def mutants_of(source: str) -> Iterator[Mutant]:
    tree = ast.parse(source)
    for path, node in _nodes(tree, ()):
        for change in _changes(node):
            changed = change(deepcopy(node))
            after = "pass" if changed is None else ast.unparse(changed)
            new = partial(_with, tree, path, ast.Pass() if changed is None else changed)
            yield Mutant(node.lineno, ast.unparse(node), after, new)


Path = tuple[tuple[str, int | None], ...]  # field and place of each step down from the module


def _nodes(node: ast.AST, path: Path) -> Iterator[tuple[Path, ast.AST]]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _is_check(child):
                step = (*path, (name, place))
                if isinstance(child, ast.expr | ast.stmt):
                    yield step, child
                yield from _nodes(child, step)


def _is_check(node: ast.AST) -> bool:
    match node:
        case ast.keyword(arg="strict") | ast.FunctionDef(name="check_invariants"):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
    return isinstance(node, UNTOUCHED)


def _with(tree: ast.Module, path: Path, node: ast.AST) -> ast.Module:
    """A copy of the tree with another node at the end of the path."""
    new = deepcopy(tree)
    parent: ast.AST = new
    for name, place in path[:-1]:
        parent = getattr(parent, name) if place is None else getattr(parent, name)[place]
    name, place = path[-1]
    if place is None:
        setattr(parent, name, node)
    else:
        getattr(parent, name)[place] = node
    return ast.fix_missing_locations(new)


def _changes(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in OTHER:
            yield lambda new: _set(new, ops=[OTHER[type(op)]()])
        case ast.BinOp(op=op) | ast.AugAssign(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield lambda new: _set(new, op=OTHER[type(op)]())
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield lambda new: operand
        case ast.Constant(value=bool(value)):
            yield lambda new: _set(new, value=not value)
        case ast.Constant(value=int(value) | float(value)):
            yield lambda new: _set(new, value=value + 1)
        case ast.Name(id=name) if name in OTHER_NAME:
            yield lambda new: _set(new, id=OTHER_NAME[name])
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ast.Compare):
            yield lambda new: _set(new, test=ast.UnaryOp(ast.Not(), test))
        case ast.Break():
            yield lambda new: ast.Continue()
        case ast.Continue():
            yield lambda new: ast.Break()
    yield from _deletions(node)


def _deletions(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Expr(value=ast.Constant()):
            pass  # a docstring
        case ast.Expr() | ast.AugAssign() | ast.Delete():
            yield lambda new: None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield lambda new: None
        case ast.Return(value=value) if value is not None and not isinstance(value, ast.Constant):
            yield lambda new: _set(new, value=ast.Constant(None))


def _set(node: ast.AST, **fields: object) -> ast.AST:
    for name, value in fields.items():
        setattr(node, name, value)
    return node
