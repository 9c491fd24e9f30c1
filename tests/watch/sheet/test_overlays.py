"""Boxes and masks."""

from __future__ import annotations

import re

import numpy as np
import pytest

from penstock.watch.sheet.overlays import COLORS, MOST_BOXES, boxes_svg, corners_of, mask_numbers, with_masks


@pytest.mark.parametrize(
    ("box_format", "box"),
    [("xyxy", [2, 3, 8, 5]), ("yxyx", [3, 2, 5, 8]), ("xywh", [2, 3, 6, 2]), ("cxcywh", [5, 4, 6, 2])],
)
def test_every_format_of_a_box_gives_its_corners(box_format, box):
    corners = corners_of(np.array([box], float), box_format, (10, 20), relative=False)
    assert corners.tolist() == [[2, 3, 8, 5]]
    parts = np.array([box], float) / ([10, 20, 10, 20] if box_format == "yxyx" else [20, 10, 20, 10])
    assert np.allclose(corners_of(parts, box_format, (10, 20), relative=True), [[2, 3, 8, 5]])


def test_boxes_without_an_area_are_left_out():
    corners = np.array([[0, 0, 0, 0], [1, 1, 5, 5], [np.nan, 0, 1, 1], [5, 5, 1, 1], [-1, -1, -1, -1]])
    svg = boxes_svg(corners, ["a"] * 5, [0] * 5, 1.0)
    assert svg.count("<g>") == 1
    assert 'x="1" y="1" width="4" height="4"' in svg


def test_names_are_escaped_and_boxes_bounded():
    corners = np.tile([[1.0, 1, 5, 5]], (500, 1))
    svg = boxes_svg(corners, ["<b>"] * 500, list(range(500)), 1.0)
    assert svg.count("<g>") == MOST_BOXES
    assert "<b>" not in svg
    assert len(set(re.findall(r'stroke="(#\w+)"', svg))) == len(COLORS)


def test_masks_color_the_pixels_where_they_are():
    pixels = np.full((4, 6, 3), 100, np.uint8)
    mask = np.zeros((8, 12), np.int64)
    mask[:4, :6], mask[4:, 6:] = 1, 2
    drawn = with_masks(pixels, mask)
    assert (drawn[0, 5] == 100).all()
    assert (drawn[3, 0] == 100).all()
    assert drawn[0, 0].tolist() == (0.55 * 100 + 0.45 * COLORS[0]).astype(np.uint8).tolist()
    assert drawn[3, 5].tolist() == (0.55 * 100 + 0.45 * COLORS[1]).astype(np.uint8).tolist()


def test_masks_of_one_channel_and_of_no_object():
    pixels = np.full((4, 6, 3), 100, np.uint8)
    flags = np.zeros((4, 6, 1), bool)
    assert (with_masks(pixels, flags) == pixels).all()
    assert (with_masks(pixels, ~flags) != pixels).all()
    assert (with_masks(pixels, np.zeros((0, 4, 6), bool)) == pixels).all()


def test_every_kind_of_mask_has_numbers():
    flags = np.array([[True, False]])
    assert mask_numbers(flags).tolist() == [[1, 0]]
    assert mask_numbers(np.array([[0.9, 0.2]])).tolist() == [[1, 0]]
    assert mask_numbers(np.array([[7.0, 0.0]])).tolist() == [[7, 0]]
    assert mask_numbers(np.stack([flags, ~flags])).tolist() == [[1, 2]]
    assert mask_numbers(np.zeros((0, 4, 5), bool)).tolist() == np.zeros((4, 5)).tolist()
