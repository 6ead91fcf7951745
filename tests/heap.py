"""What objects hold, directly and through others: counted by type, and in bytes, without help of the interpreter.

Code is left out, and what it names: classes, modules, functions but for what they close over.
"""

import gc
import sys
from collections import Counter
from types import BuiltinFunctionType, CellType, FunctionType, MethodType, ModuleType

CODE = (type, ModuleType, BuiltinFunctionType)


class Heap:
    def __init__(self, *roots: object) -> None:
        self.counts: Counter[str] = Counter()
        self.bytes = 0
        seen: set[int] = set()
        waiting: list[object] = list(roots)
        while waiting:
            one = waiting.pop()
            if id(one) in seen or isinstance(one, CODE):
                continue
            seen.add(id(one))
            self.counts[type(one).__name__] += 1
            self.bytes += sys.getsizeof(one)
            waiting += _held_by(one)

    def more_than(self, before: "Heap") -> str:
        """What there is more of, for people to read."""
        more = (self.counts - before.counts).most_common(8)
        return f"{self.bytes - before.bytes:,} bytes: " + ", ".join(f"{count:,} {name}" for name, count in more)


def _held_by(one: object) -> list[object]:
    if isinstance(one, FunctionType):
        return [*(one.__closure__ or ()), *(one.__defaults__ or ())]
    if isinstance(one, MethodType | CellType):
        return gc.get_referents(one)
    return [held for held in gc.get_referents(one) if not isinstance(held, CODE)]
