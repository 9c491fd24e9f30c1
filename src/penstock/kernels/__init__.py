"""Native kernels behind plain NumPy signatures; `kernels.reference` holds the twins that tests hold them against."""

from penstock.kernels.memory import Pool as Pool
from penstock.kernels.memory import gather as gather
from penstock.kernels.order import first_draws as first_draws
from penstock.kernels.order import permute as permute
from penstock.kernels.order import permute_rows as permute_rows
from penstock.kernels.order import permute_rows_within as permute_rows_within
from penstock.kernels.order import permute_within as permute_within
from penstock.kernels.order import unpermute as unpermute
from penstock.kernels.order import unpermute_rows as unpermute_rows
from penstock.kernels.order import unpermute_rows_within as unpermute_rows_within
from penstock.kernels.order import unpermute_within as unpermute_within
from penstock.kernels.rows import group_rows as group_rows
from penstock.kernels.rows import stride_rows as stride_rows
