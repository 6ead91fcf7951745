"""Tables: values that are columns of equal length, for Arrow, pandas and Parquet."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, pa.Array | npt.NDArray[Any]]


class Table(ABC):
    """A value with `columns`, as they stand in its Parquet file where it has one."""

    @property
    @abstractmethod
    def columns(self) -> Columns: ...

    def to_arrow(self) -> pa.Table:
        return pa.table(dict(self.columns))

    def to_pandas(self) -> "pd.DataFrame":
        return self.to_arrow().to_pandas()
