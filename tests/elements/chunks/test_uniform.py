import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from penstock.elements.chunks.chunk import Columns, Items
from penstock.elements.chunks.uniform import fill_rows, forms_of_rows, in_columns, rows_of
from penstock.elements.nested.structure import LEAF


def test_elements_of_several_structures_are_no_columns():
    assert in_columns(Items([{"x": 1}, (1, 2)])) is None


@given(
    st.one_of(
        st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=1),
        st.lists(st.floats(allow_nan=False), min_size=1),
        st.lists(arrays.arrays(np.float32, (2,), elements=st.floats(width=32, allow_nan=False)), min_size=1),
    ),
    st.data(),
)
def test_values_copied_to_rows_of_their_form_are_the_same(values, data):
    (form,) = forms_of_rows(Columns(LEAF, [values], len(values)))
    array = np.empty((len(values), *form.shape), form.dtype)
    assert array.nbytes == len(values) * form.nbytes
    fill_rows(array, values)
    rows = data.draw(st.lists(st.integers(0, len(values) - 1)))
    found = Columns(LEAF, [rows_of(array, np.array(rows, np.int64))], len(rows)).elements()
    assert repr(found) == repr([values[row] for row in rows])
