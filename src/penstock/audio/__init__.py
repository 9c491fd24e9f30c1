"""Declarative audio operations: callable on one recording, `float32` samples with time as their first axis."""

from penstock.audio.crop import center_crop as center_crop
from penstock.audio.crop import random_crop as random_crop
from penstock.audio.decode import decode as decode
from penstock.audio.gain import random_gain as random_gain
from penstock.audio.header import AudioInfo as AudioInfo
from penstock.audio.header import info as info
from penstock.audio.mel import log_mel as log_mel
from penstock.audio.pad import pad as pad
from penstock.audio.pad import pad_or_crop as pad_or_crop
from penstock.audio.resample import resample as resample
