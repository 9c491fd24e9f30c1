"""Operations read as they are written, and compare by what they do."""

from __future__ import annotations

import pytest

from penstock import image

WRITTEN = [
    "decode()",
    "decode(channels=1, exact=True)",
    "crop(1, 2, 3, 4)",
    "center_crop((224, 224))",
    "random_crop((3, 4))",
    "resize(256)",
    "resize((3, 4), interpolation='nearest', antialias=False)",
    "random_resized_crop((224, 224))",
    "random_resized_crop((224, 224), scale=(0.2, 1.0), ratio=(1.0, 2.0))",
    "random_flip(0.5)",
    "normalize((0.5,), (0.25,), dtype='float16')",
    "to_chw()",
]


@pytest.mark.parametrize("text", WRITTEN)
def test_an_operation_reads_as_it_is_written(text) -> None:
    op = eval(text, vars(image))
    assert repr(op) == text
    assert op == eval(text, vars(image))
    assert hash(op) == hash(eval(text, vars(image)))


def test_a_single_size_means_a_square() -> None:
    assert image.center_crop(4) == image.center_crop((4, 4))
    assert image.resize(4) != image.resize((4, 4))


def test_operations_declare_random_draws() -> None:
    drawing = {text.partition("(")[0] for text in WRITTEN if eval(text, vars(image)).random}
    assert drawing == {"random_crop", "random_resized_crop", "random_flip"}
