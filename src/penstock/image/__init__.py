"""Declarative image operations: callable on one image, and fused into one native kernel inside a pipeline."""

from penstock.image.crop import center_crop as center_crop
from penstock.image.crop import crop as crop
from penstock.image.crop import random_crop as random_crop
from penstock.image.decode import decode as decode
from penstock.image.flip import random_flip as random_flip
from penstock.image.pixels import normalize as normalize
from penstock.image.pixels import to_chw as to_chw
from penstock.image.resize import random_resized_crop as random_resized_crop
from penstock.image.resize import resize as resize
