"""Transforms that JSON may name: the complete list.

A saved pipeline and an archive name their transforms. A name that is not in ``TRANSFORMS`` is refused, so that a file
never determines what is imported or looked up. ``Plugin`` and ``PythonTokenizer`` are absent on purpose: they run code
of the user. ``tests/unit/data/transforms/test_serialization.py`` checks that the list is complete.
"""

from __future__ import annotations

from .audio.amplitude_effects import (
    Contrast,
    DCShift,
    Dither,
    Fade,
    Gain,
    MuLawDecoding,
    MuLawEncoding,
    Overdrive,
    Vol,
)
from .audio.biquad_filters import (
    AllpassBiquad,
    BandBiquad,
    BandpassBiquad,
    BandrejectBiquad,
    BassBiquad,
    DeemphBiquad,
    EqualizerBiquad,
    HighpassBiquad,
    LowpassBiquad,
    RiaaBiquad,
    TrebleBiquad,
)
from .audio.iir_filters import Biquad, Filtfilt, LFilter
from .audio.magnitude_phase import AmplitudeToDB, Angle, ComplexNorm, ComputeDeltas, DBToAmplitude, Magphase
from .audio.mel_spectrogram import InverseMelScale, MelScale, MelSpectrogram
from .audio.mfcc import LFCC, MFCC
from .audio.modulation_effects import Flanger, Phaser
from .audio.spec_augment import FrequencyMasking, MaskAlongAxis, MaskAlongAxisIID, TimeMasking
from .audio.spectrogram import GriffinLim, InverseSpectrogram, SpectralCentroid, Spectrogram
from .audio.speech_features import DetectPitchFrequency, SlidingWindowCmn, Vad
from .audio.time_stretch import PhaseVocoder, PitchShift, Resample, TimeStretch
from .compose import Compose, RandomApply, RandomChoice, RandomOrder
from .generic import Concatenate, Duplicate, Fill, Mask, OneHot, PadEnd, Slice, TypeCast, Unique
from .tensor_operation import TensorOperation
from .text.bert_tokenizer import BasicTokenizer, BertTokenizer, WordpieceTokenizer
from .text.hugging_face import HuggingFaceTokenizer
from .text.jieba import JiebaTokenizer
from .text.lookup import Lookup, ToNumber
from .text.regex_tokenizer import RegexReplace, RegexTokenizer
from .text.sentence_piece import SentencePieceTokenizer
from .text.token_sequence import AddToken, Ngram, SlidingWindow, Truncate, TruncateSequencePair
from .text.unicode_normalization import CaseFold, FilterWikipediaXML, NormalizeUTF8
from .text.unicode_tokenizers import UnicodeCharTokenizer, UnicodeScriptTokenizer, WhitespaceTokenizer
from .text.word_vectors import ToVectors
from .vision.affine import Affine, Perspective, RandomAffine, RandomPerspective, RandomRotation, Rotate
from .vision.auto_augment import (
    AutoAugment,
    RandAugment,
    RandomSelectSubpolicy,
    TrivialAugmentWide,
    UniformAugment,
)
from .vision.bounding_boxes import (
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizedCropWithBBox,
    RandomResizeWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
)
from .vision.color import (
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    AutoContrast,
    ConvertColor,
    Equalize,
    GaussianBlur,
    Grayscale,
    Invert,
    Posterize,
    Solarize,
)
from .vision.color_space import HsvToRgb, LinearTransformation, RgbToHsv
from .vision.crop import (
    CenterCrop,
    Crop,
    FiveCrop,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    Resize,
    ResizedCrop,
    SlicePatches,
    TenCrop,
)
from .vision.decode import Decode, RandomCropDecodeResize
from .vision.erase import CutOut, Erase, RandomErasing
from .vision.legacy import (
    CDecode,
    Cutout,
    PyDecode,
    PyNormalize,
    PyNormalizePad,
    PyToTensor,
    RgbToBgr,
    SoftDvppDecodeRandomCropResizeJpeg,
    SoftDvppDecodeResizeJpeg,
)
from .vision.mixup import CutMixBatch, MixUp, MixUpBatch
from .vision.normalize import (
    HWC2CHW,
    HorizontalFlip,
    Normalize,
    NormalizePad,
    Pad,
    PadToSize,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Rescale,
    ToNumpy,
    ToPIL,
    ToTensor,
    ToType,
    VerticalFlip,
)
from .vision.random_color import (
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomColor,
    RandomColorAdjust,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomLighting,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
)
from .vision.video import DecodeVideo

__all__ = ["REFUSED", "TRANSFORMS"]

_CLASSES: tuple[type[TensorOperation], ...] = (
    AllpassBiquad,
    BandBiquad,
    BandpassBiquad,
    BandrejectBiquad,
    BassBiquad,
    DeemphBiquad,
    EqualizerBiquad,
    HighpassBiquad,
    LowpassBiquad,
    RiaaBiquad,
    TrebleBiquad,
    LFCC,
    MFCC,
    Flanger,
    Phaser,
    Biquad,
    Filtfilt,
    LFilter,
    Contrast,
    DCShift,
    Dither,
    Fade,
    Gain,
    MuLawDecoding,
    MuLawEncoding,
    Overdrive,
    Vol,
    AmplitudeToDB,
    Angle,
    ComplexNorm,
    ComputeDeltas,
    DBToAmplitude,
    Magphase,
    FrequencyMasking,
    MaskAlongAxis,
    MaskAlongAxisIID,
    TimeMasking,
    InverseMelScale,
    MelScale,
    MelSpectrogram,
    GriffinLim,
    InverseSpectrogram,
    SpectralCentroid,
    Spectrogram,
    DetectPitchFrequency,
    SlidingWindowCmn,
    Vad,
    PhaseVocoder,
    PitchShift,
    Resample,
    TimeStretch,
    Compose,
    RandomApply,
    RandomChoice,
    RandomOrder,
    Concatenate,
    Duplicate,
    Fill,
    Mask,
    OneHot,
    PadEnd,
    Slice,
    TypeCast,
    Unique,
    BasicTokenizer,
    BertTokenizer,
    WordpieceTokenizer,
    HuggingFaceTokenizer,
    JiebaTokenizer,
    Lookup,
    ToNumber,
    CaseFold,
    FilterWikipediaXML,
    NormalizeUTF8,
    RegexReplace,
    RegexTokenizer,
    SentencePieceTokenizer,
    AddToken,
    Ngram,
    SlidingWindow,
    Truncate,
    TruncateSequencePair,
    ToVectors,
    UnicodeCharTokenizer,
    UnicodeScriptTokenizer,
    WhitespaceTokenizer,
    AutoAugment,
    RandAugment,
    RandomSelectSubpolicy,
    TrivialAugmentWide,
    UniformAugment,
    CutMixBatch,
    MixUp,
    MixUpBatch,
    BoundingBoxAugment,
    RandomCropWithBBox,
    RandomHorizontalFlipWithBBox,
    RandomResizeWithBBox,
    RandomResizedCropWithBBox,
    RandomVerticalFlipWithBBox,
    ResizeWithBBox,
    AdjustBrightness,
    AdjustContrast,
    AdjustGamma,
    AdjustHue,
    AdjustSaturation,
    AdjustSharpness,
    AutoContrast,
    ConvertColor,
    Equalize,
    GaussianBlur,
    Grayscale,
    Invert,
    Posterize,
    Solarize,
    CenterCrop,
    Crop,
    FiveCrop,
    RandomCrop,
    RandomResize,
    RandomResizedCrop,
    Resize,
    ResizedCrop,
    SlicePatches,
    TenCrop,
    Decode,
    RandomCropDecodeResize,
    CutOut,
    Erase,
    RandomErasing,
    HWC2CHW,
    HorizontalFlip,
    Normalize,
    NormalizePad,
    Pad,
    PadToSize,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Rescale,
    ToNumpy,
    ToPIL,
    ToTensor,
    ToType,
    VerticalFlip,
    CDecode,
    Cutout,
    PyDecode,
    PyNormalize,
    PyNormalizePad,
    PyToTensor,
    RgbToBgr,
    SoftDvppDecodeRandomCropResizeJpeg,
    SoftDvppDecodeResizeJpeg,
    RandomAdjustSharpness,
    RandomAutoContrast,
    RandomColor,
    RandomColorAdjust,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomLighting,
    RandomPosterize,
    RandomSharpness,
    RandomSolarize,
    HsvToRgb,
    LinearTransformation,
    RgbToHsv,
    DecodeVideo,
    Affine,
    Perspective,
    RandomAffine,
    RandomPerspective,
    RandomRotation,
    Rotate,
)

TRANSFORMS: dict[str, type[TensorOperation]] = {listed.__name__: listed for listed in _CLASSES}

# Transforms that run the user's code, with the reason that a file may not name them.
REFUSED: dict[str, str] = {
    "Plugin": "it runs a Python file",
    "PythonTokenizer": "it calls a Python function",
}
