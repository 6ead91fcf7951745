"""Tables: values that are columns of equal length, for Arrow, pandas and Parquet."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 5  # rows in a notebook

Columns = Mapping[str, pa.Array | npt.NDArray[Any]]


class Table(ABC):
    """A value with `columns`, as they stand in its Parquet file where it has one."""

    @property
    @abstractmethod
    def columns(self) -> Columns: ...

    def to_arrow(self) -> pa.Table:
        return pa.table(dict(self.columns))

    def __eq__(self, other: object) -> bool:
        """Equal values of one type have the same content, however they were made."""
        return type(self) is type(other) and isinstance(other, Table) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((type(self), self.to_arrow().num_rows))

    def _content(self) -> tuple[object, ...]:
        """All that two equal values have in common."""
        return (self.to_arrow(),)

    def _repr_html_(self) -> str:
        """Summary and first rows, for a notebook."""
        rows = self.to_arrow()
        shown: str = rows.slice(0, SHOWN).to_pandas().to_html(index=False, border=0)
        more = f"<p>... {rows.num_rows - SHOWN:,} rows more</p>" if rows.num_rows > SHOWN else ""
        return f"<p><b>{escape(repr(self))}</b></p>{shown}{more}"

    def to_pandas(self) -> "pd.DataFrame":
        return self.to_arrow().to_pandas()
