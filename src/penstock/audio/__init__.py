"""Declarative audio operations: callable on one recording, `float32` samples with time as their first axis."""

from penstock.audio.cropping import center_crop, random_crop
from penstock.audio.decode import decode
from penstock.audio.gain import random_gain
from penstock.audio.header import AudioInfo, info
from penstock.audio.mel import log_mel
from penstock.audio.pad import pad, pad_or_crop
from penstock.audio.resample import resample

__all__ = [
    "AudioInfo",
    "center_crop",
    "decode",
    "info",
    "log_mel",
    "pad",
    "pad_or_crop",
    "random_crop",
    "random_gain",
    "resample",
]
