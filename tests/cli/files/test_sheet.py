import numpy as np
import pytest

from penstock.cli.files.sheet import contact_sheet, save_png


def filled(height, width, color, channels=3):
    return np.full((height, width, channels), color, np.uint8)


@pytest.mark.parametrize(("count", "shape"), [(0, (4, 24, 3)), (1, (24, 24, 3)), (2, (24, 44, 3)), (3, (44, 44, 3))])
def test_a_sheet_is_as_large_as_its_rows(count, shape):
    assert contact_sheet([filled(5, 5, 0)] * count, across=2, side=16).shape == shape


def test_each_image_keeps_its_ratio_and_stands_in_the_middle_of_its_place():
    sheet = contact_sheet([filled(10, 40, 7)], side=16)
    rows, columns = np.nonzero((sheet == 7).all(axis=2))
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (10, 13, 4, 19)


def test_gray_images_are_drawn_in_gray():
    sheet = contact_sheet([filled(16, 16, 9, channels=1)], side=16)
    assert (sheet[4:20, 4:20] == 9).all()


def test_a_sheet_is_saved_exactly(tmp_path):
    image = pytest.importorskip("PIL.Image")
    sheet = contact_sheet([filled(3, 5, 100)], side=8)
    save_png(sheet, str(tmp_path / "sheet.png"))
    with image.open(tmp_path / "sheet.png") as opened:
        assert np.array_equal(np.asarray(opened), sheet)
