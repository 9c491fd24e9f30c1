"""Row arithmetic as pure functions on arrays of int64: what every transformation does to the numbers of rows."""

from penstock.index.concatenated import concatenated as concatenated
from penstock.index.grouped import group_of as group_of
from penstock.index.grouped import grouped as grouped
from penstock.index.paired import paired as paired
from penstock.index.permuted import permuted as permuted
from penstock.index.repeated import repeated as repeated
from penstock.index.strided import strided as strided
