"""One element of a contact sheet."""

from __future__ import annotations

import re

import numpy as np
import pytest

import penstock as ps
from penstock.watch.sheet.cards import MOST_LEAVES, MOST_TOKENS, Manner, card_html, naming_of
from penstock.watch.sheet.roles import Roles, roles_of

IMAGE = np.zeros((32, 40, 3), np.uint8)
NAMES = naming_of(["cat", "<b>dog</b>"])


def card(element, manner=None, **asked):
    return card_html(element, roles_of(element, asked), manner or Manner())


def test_an_image_has_its_label_below():
    html = card({"image": IMAGE, "label": 1, "id": 7}, Manner(NAMES))
    assert html.count("<image ") == 1
    assert "<b>&lt;b&gt;dog&lt;/b&gt;</b>" in html
    assert ">id</span> <code>7</code>" in html


@pytest.mark.parametrize("label", [5, -1, "five", b"five", 5.0, True, np.int64(5), np.array([1, 5])])
def test_a_label_without_a_name_is_shown_as_it_is(label):
    html = card({"image": IMAGE, "label": label}, Manner(NAMES))
    assert "<b>" in html
    assert "not drawn" not in html


def test_boxes_are_drawn_over_the_image_with_the_names_of_their_classes():
    element = {"image": IMAGE, "boxes": np.array([[1, 2, 11, 12], [0, 0, 0, 0.0]]), "labels": np.array([0, 1])}
    html = card(element, Manner(NAMES))
    assert 'x="1" y="2" width="10" height="10"' in html
    assert ">cat</text>" in html
    assert "dog" not in html
    assert "labels" not in html
    assert 'x="1" y="2" width="11" height="12"' in card(element, Manner(box_format="xywh"))


def test_boxes_classes_and_tokens_may_be_lists_as_in_json():
    objects = {"bbox": [[1, 2, 9, 9], [3, 4, 9, 9]], "category": ["cat", "dog"]}
    html = card({"image": IMAGE, "objects": objects, "input_ids": [3, 4]})
    assert {"cat", "dog"} <= set(re.findall(r">(\w+)</text>", html))
    assert "2 tokens" in html
    assert card({"image": IMAGE, "objects": {"bbox": [], "category": []}}).count("<code>[]</code>") == 2


def test_masks_without_an_image_have_a_picture():
    html = card({"mask": np.eye(32, 40, dtype=np.int64)})
    assert 'viewBox="0 0 40 32"' in html
    assert 'viewBox="0 0 40 32"' in card({"masks": np.ones((3, 32, 40), bool)})


def test_audio_tokens_and_text():
    html = card({"audio": np.zeros(4000, np.float32), "label": 1})
    assert "waveform" in html
    assert "float32[4000]" in html
    tokens = card({"input_ids": np.arange(100)}, Manner(token_names=lambda number: f"<{number}>"))
    assert tokens.count("class=token") == MOST_TOKENS
    assert "&lt;7&gt;" in tokens
    assert "100 tokens" in tokens
    assert "52 more" in tokens


def test_a_short_wave_that_was_asked_for_is_drawn():
    assert "waveform" in card({"a": np.arange(20.0)}, audio="a")


def test_a_leaf_that_cannot_be_drawn_shows_its_error():
    class Broken:
        def __str__(self):
            raise ValueError("<b>")

    html = card({"image": IMAGE, "other": Broken()})
    assert "not drawn: ValueError: &lt;b&gt;" in html
    assert "<image " in html
    failing = card({"input_ids": np.arange(9)}, Manner(token_names=lambda number: [][number]))
    assert failing.count("class=token") == 9  # as numbers


def test_leaves_are_bounded():
    html = card({f"key{at}": at for at in range(100)})
    assert html.count("<code>") == MOST_LEAVES
    assert "and 88 more leaves" in html
    assert "{}" in card({})


def test_roles_of_another_element_do_no_harm():
    other = Roles({"image": '["image"]', "boxes": '["b"]', "label": '["label"]', "tokens": '["t"]', "masks": '["m"]'})
    for element in ({"image": "none here", "b": "x", "t": 3, "m": 1.0}, {}, {"label": {}}, 3):
        assert "not drawn" not in card_html(element, other, Manner())


def test_thumbnails_are_bounded():
    noise = np.random.default_rng(0).integers(0, 256, (2000, 3000, 3), np.uint8)
    html = card({"image": noise})
    assert len(html) < 120_000
    assert 'width="3000" height="2000"' in html


def test_small_images_have_sharp_pixels():
    assert "pixelated" in card({"image": np.zeros((28, 28), np.uint8)})
    assert "pixelated" not in card({"image": np.zeros((280, 280), np.uint8)})


def test_ragged_leaves_and_large_arrays_are_shown_in_short():
    html = card({"r": ps.Ragged.from_rows([[1], [2, 3]]), "a": np.zeros((300, 2, 2), np.int64)})
    assert "[[1], [2, 3]]" in html
    assert "int64[300, 2, 2]" in html
    assert len(re.sub("<[^>]+>", "", html)) < 400
