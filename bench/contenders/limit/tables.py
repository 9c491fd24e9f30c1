"""The limits of `tables`: pyarrow, with batches as NumPy arrays; shuffled from a table in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from bench.looked import look_at_rows
from bench.tally import Tally


def version() -> str:
    return pa.__version__


def build(options: dict[str, Any]) -> Callable[[Tally, int], None]:
    is_csv, size = options["kind"].startswith("csv"), options["batch"]
    types = {f"x{i:02d}": pa.float32() for i in range(options["features"])}
    converted = arrow_csv.ConvertOptions(column_types=types)

    def whole() -> Any:
        if is_csv:
            return arrow_csv.read_csv(options["csv"], convert_options=converted)
        return pq.read_table(options["parquet"])

    def batches(number: int) -> Iterator[Any]:
        if "shuffled" in options["kind"]:
            table = whole().combine_chunks()
            order = np.random.default_rng(number).permutation(len(table))
            for low in range(0, len(table), size):
                yield table.take(pa.array(order[low : low + size]))
        elif is_csv:
            for read in arrow_csv.open_csv(options["csv"], convert_options=converted):
                yield from (read.slice(low, size) for low in range(0, len(read), size))
        else:
            yield from pq.ParquetFile(options["parquet"]).iter_batches(size)

    def run(tally: Tally, number: int) -> None:
        rest: dict[str, np.ndarray] = {}
        for batch in batches(number):
            columns = arrays(batch)
            if rest or len(columns["id"]) != size:  # join the rest of one read with the beginning of the next
                rest = {name: np.concatenate([rest[name], of]) if rest else of for name, of in columns.items()}
                columns = {name: of[:size] for name, of in rest.items()}
                if len(columns["id"]) < size:
                    continue
                rest = {name: of[size:] for name, of in rest.items()}
            look_at_rows(tally, columns)

    return run


def arrays(batch: Any) -> dict[str, np.ndarray]:
    """Return the columns of a record batch or a table."""
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    return {name: table.column(name).to_numpy() for name in table.column_names}
