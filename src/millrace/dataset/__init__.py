"""The data pipeline under MindSpore's names: ``import millrace.dataset as ds``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.core.batch_info import BatchInfo
from millrace.core.lazy import lazy
from millrace.core.shuffle import Shuffle
from millrace.data.fluent.callbacks import DSCallback, WaitedDSCallback
from millrace.data.fluent.dataset import Dataset
from millrace.data.fluent.order_ops import mix_datasets as mix
from millrace.data.fluent.order_ops import zip_datasets as zip
from millrace.data.fluent.pipeline_json import compare, deserialize, serialize, show
from millrace.data.fluent.schema import Schema
from millrace.data.samplers import (
    DistributedSampler,
    IterSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from millrace.data.sources.generator import GeneratorDataset
from millrace.data.sources.numpy_slices import NumpySlicesDataset
from millrace.data.sources.padded import PaddedDataset
from millrace.data.sources.random_data import RandomDataset

from . import config, transforms

if TYPE_CHECKING:
    from millrace.data.cache.dataset_cache import DatasetCache
    from millrace.data.monitor.watch import monitor
    from millrace.data.sources.adapters.hugging_face import HuggingFaceDataset
    from millrace.data.sources.adapters.parquet import ParquetDataset
    from millrace.data.sources.adapters.torch_dataset import TorchDataset
    from millrace.data.sources.adapters.web_dataset import WebDataset
    from millrace.data.sources.audio.cmu_arctic import CMUArcticDataset
    from millrace.data.sources.audio.gtzan import GTZANDataset
    from millrace.data.sources.audio.libri_tts import LibriTTSDataset
    from millrace.data.sources.audio.lj_speech import LJSpeechDataset
    from millrace.data.sources.audio.speech_commands import SpeechCommandsDataset
    from millrace.data.sources.audio.tedlium import TedliumDataset
    from millrace.data.sources.audio.yes_no import YesNoDataset
    from millrace.data.sources.csv import CSVDataset
    from millrace.data.sources.manifest import ManifestDataset
    from millrace.data.sources.obs_records import OBSMindDataset, sync_wait_for_dataset
    from millrace.data.sources.records import MindDataset
    from millrace.data.sources.text.ag_news import AGNewsDataset
    from millrace.data.sources.text.amazon_review import AmazonReviewDataset
    from millrace.data.sources.text.clue import CLUEDataset
    from millrace.data.sources.text.conll2000 import CoNLL2000Dataset
    from millrace.data.sources.text.dbpedia import DBpediaDataset
    from millrace.data.sources.text.en_wik9 import EnWik9Dataset
    from millrace.data.sources.text.imdb import IMDBDataset
    from millrace.data.sources.text.iwslt2016 import IWSLT2016Dataset
    from millrace.data.sources.text.iwslt2017 import IWSLT2017Dataset
    from millrace.data.sources.text.multi30k import Multi30kDataset
    from millrace.data.sources.text.penn_treebank import PennTreebankDataset
    from millrace.data.sources.text.sogou_news import SogouNewsDataset
    from millrace.data.sources.text.squad import SQuADDataset
    from millrace.data.sources.text.sst2 import SST2Dataset
    from millrace.data.sources.text.udpos import UDPOSDataset
    from millrace.data.sources.text.wiki_text import WikiTextDataset
    from millrace.data.sources.text.yahoo_answers import YahooAnswersDataset
    from millrace.data.sources.text.yelp_review import YelpReviewDataset
    from millrace.data.sources.text_file import TextFileDataset
    from millrace.data.sources.tfrecord import TFRecordDataset
    from millrace.data.sources.vision.caltech101 import Caltech101Dataset
    from millrace.data.sources.vision.caltech256 import Caltech256Dataset
    from millrace.data.sources.vision.celeba import CelebADataset
    from millrace.data.sources.vision.cifar10 import Cifar10Dataset
    from millrace.data.sources.vision.cifar100 import Cifar100Dataset
    from millrace.data.sources.vision.cityscapes import CityscapesDataset
    from millrace.data.sources.vision.coco import CocoDataset
    from millrace.data.sources.vision.div2k import DIV2KDataset
    from millrace.data.sources.vision.emnist import EMnistDataset
    from millrace.data.sources.vision.fake_image import FakeImageDataset
    from millrace.data.sources.vision.fashion_mnist import FashionMnistDataset
    from millrace.data.sources.vision.flickr import FlickrDataset
    from millrace.data.sources.vision.flowers102 import Flowers102Dataset
    from millrace.data.sources.vision.food101 import Food101Dataset
    from millrace.data.sources.vision.image_folder import ImageFolderDataset
    from millrace.data.sources.vision.kitti import KITTIDataset
    from millrace.data.sources.vision.kmnist import KMnistDataset
    from millrace.data.sources.vision.lfw import LFWDataset
    from millrace.data.sources.vision.lsun import LSUNDataset
    from millrace.data.sources.vision.mnist import MnistDataset
    from millrace.data.sources.vision.omniglot import OmniglotDataset
    from millrace.data.sources.vision.photo_tour import PhotoTourDataset
    from millrace.data.sources.vision.places365 import Places365Dataset
    from millrace.data.sources.vision.qmnist import QMnistDataset
    from millrace.data.sources.vision.rendered_sst2 import RenderedSST2Dataset
    from millrace.data.sources.vision.sbd import SBDataset
    from millrace.data.sources.vision.sbu import SBUDataset
    from millrace.data.sources.vision.semeion import SemeionDataset
    from millrace.data.sources.vision.stl10 import STL10Dataset
    from millrace.data.sources.vision.sun397 import SUN397Dataset
    from millrace.data.sources.vision.svhn import SVHNDataset
    from millrace.data.sources.vision.usps import USPSDataset
    from millrace.data.sources.vision.voc import VOCDataset
    from millrace.data.sources.vision.wider_face import WIDERFaceDataset
    from millrace.dataset import audio, debug, text, vision

# Sources that read files are many; each is loaded when it is first named.
_PLACES = {
    "DatasetCache": "millrace.data.cache.dataset_cache",
    "audio": "millrace.dataset.audio",
    "debug": "millrace.dataset.debug",
    "monitor": "millrace.data.monitor.watch",
    "text": "millrace.dataset.text",
    "utils": "millrace.dataset.utils",
    "vision": "millrace.dataset.vision",
    "HuggingFaceDataset": "millrace.data.sources.adapters.hugging_face",
    "ParquetDataset": "millrace.data.sources.adapters.parquet",
    "TorchDataset": "millrace.data.sources.adapters.torch_dataset",
    "WebDataset": "millrace.data.sources.adapters.web_dataset",
    "CMUArcticDataset": "millrace.data.sources.audio.cmu_arctic",
    "GTZANDataset": "millrace.data.sources.audio.gtzan",
    "LibriTTSDataset": "millrace.data.sources.audio.libri_tts",
    "LJSpeechDataset": "millrace.data.sources.audio.lj_speech",
    "SpeechCommandsDataset": "millrace.data.sources.audio.speech_commands",
    "TedliumDataset": "millrace.data.sources.audio.tedlium",
    "YesNoDataset": "millrace.data.sources.audio.yes_no",
    "CSVDataset": "millrace.data.sources.csv",
    "ManifestDataset": "millrace.data.sources.manifest",
    "OBSMindDataset": "millrace.data.sources.obs_records",
    "sync_wait_for_dataset": "millrace.data.sources.obs_records",
    "MindDataset": "millrace.data.sources.records",
    "AGNewsDataset": "millrace.data.sources.text.ag_news",
    "AmazonReviewDataset": "millrace.data.sources.text.amazon_review",
    "CLUEDataset": "millrace.data.sources.text.clue",
    "CoNLL2000Dataset": "millrace.data.sources.text.conll2000",
    "DBpediaDataset": "millrace.data.sources.text.dbpedia",
    "EnWik9Dataset": "millrace.data.sources.text.en_wik9",
    "IMDBDataset": "millrace.data.sources.text.imdb",
    "IWSLT2016Dataset": "millrace.data.sources.text.iwslt2016",
    "IWSLT2017Dataset": "millrace.data.sources.text.iwslt2017",
    "Multi30kDataset": "millrace.data.sources.text.multi30k",
    "PennTreebankDataset": "millrace.data.sources.text.penn_treebank",
    "SogouNewsDataset": "millrace.data.sources.text.sogou_news",
    "SQuADDataset": "millrace.data.sources.text.squad",
    "SST2Dataset": "millrace.data.sources.text.sst2",
    "UDPOSDataset": "millrace.data.sources.text.udpos",
    "WikiTextDataset": "millrace.data.sources.text.wiki_text",
    "YahooAnswersDataset": "millrace.data.sources.text.yahoo_answers",
    "YelpReviewDataset": "millrace.data.sources.text.yelp_review",
    "TextFileDataset": "millrace.data.sources.text_file",
    "TFRecordDataset": "millrace.data.sources.tfrecord",
    "Caltech101Dataset": "millrace.data.sources.vision.caltech101",
    "Caltech256Dataset": "millrace.data.sources.vision.caltech256",
    "CelebADataset": "millrace.data.sources.vision.celeba",
    "Cifar10Dataset": "millrace.data.sources.vision.cifar10",
    "Cifar100Dataset": "millrace.data.sources.vision.cifar100",
    "CityscapesDataset": "millrace.data.sources.vision.cityscapes",
    "CocoDataset": "millrace.data.sources.vision.coco",
    "DIV2KDataset": "millrace.data.sources.vision.div2k",
    "EMnistDataset": "millrace.data.sources.vision.emnist",
    "FakeImageDataset": "millrace.data.sources.vision.fake_image",
    "FashionMnistDataset": "millrace.data.sources.vision.fashion_mnist",
    "FlickrDataset": "millrace.data.sources.vision.flickr",
    "Flowers102Dataset": "millrace.data.sources.vision.flowers102",
    "Food101Dataset": "millrace.data.sources.vision.food101",
    "ImageFolderDataset": "millrace.data.sources.vision.image_folder",
    "KITTIDataset": "millrace.data.sources.vision.kitti",
    "KMnistDataset": "millrace.data.sources.vision.kmnist",
    "LFWDataset": "millrace.data.sources.vision.lfw",
    "LSUNDataset": "millrace.data.sources.vision.lsun",
    "MnistDataset": "millrace.data.sources.vision.mnist",
    "OmniglotDataset": "millrace.data.sources.vision.omniglot",
    "PhotoTourDataset": "millrace.data.sources.vision.photo_tour",
    "Places365Dataset": "millrace.data.sources.vision.places365",
    "QMnistDataset": "millrace.data.sources.vision.qmnist",
    "RenderedSST2Dataset": "millrace.data.sources.vision.rendered_sst2",
    "SBDataset": "millrace.data.sources.vision.sbd",
    "SBUDataset": "millrace.data.sources.vision.sbu",
    "SemeionDataset": "millrace.data.sources.vision.semeion",
    "STL10Dataset": "millrace.data.sources.vision.stl10",
    "SUN397Dataset": "millrace.data.sources.vision.sun397",
    "SVHNDataset": "millrace.data.sources.vision.svhn",
    "USPSDataset": "millrace.data.sources.vision.usps",
    "VOCDataset": "millrace.data.sources.vision.voc",
    "WIDERFaceDataset": "millrace.data.sources.vision.wider_face",
}

_find = lazy(__name__, _PLACES)


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    """Names that are loaded on first use are shown too."""
    return sorted({*globals(), *__all__, *_PLACES})


__all__ = [
    "Caltech101Dataset",
    "Caltech256Dataset",
    "CelebADataset",
    "Cifar10Dataset",
    "Cifar100Dataset",
    "CityscapesDataset",
    "CocoDataset",
    "DIV2KDataset",
    "EMnistDataset",
    "FakeImageDataset",
    "FashionMnistDataset",
    "FlickrDataset",
    "Flowers102Dataset",
    "Food101Dataset",
    "ImageFolderDataset",
    "IterSampler",
    "KITTIDataset",
    "KMnistDataset",
    "LFWDataset",
    "LSUNDataset",
    "MnistDataset",
    "OmniglotDataset",
    "PhotoTourDataset",
    "Places365Dataset",
    "QMnistDataset",
    "RenderedSST2Dataset",
    "SBDataset",
    "SBUDataset",
    "SemeionDataset",
    "STL10Dataset",
    "SUN397Dataset",
    "SVHNDataset",
    "USPSDataset",
    "VOCDataset",
    "WIDERFaceDataset",
    "CMUArcticDataset",
    "GTZANDataset",
    "LibriTTSDataset",
    "LJSpeechDataset",
    "SpeechCommandsDataset",
    "TedliumDataset",
    "YesNoDataset",
    "TorchDataset",
    "HuggingFaceDataset",
    "WebDataset",
    "ParquetDataset",
    "CSVDataset",
    "ManifestDataset",
    "TextFileDataset",
    "TFRecordDataset",
    "AGNewsDataset",
    "AmazonReviewDataset",
    "CLUEDataset",
    "CoNLL2000Dataset",
    "DBpediaDataset",
    "EnWik9Dataset",
    "IMDBDataset",
    "IWSLT2016Dataset",
    "IWSLT2017Dataset",
    "Multi30kDataset",
    "PennTreebankDataset",
    "SogouNewsDataset",
    "SQuADDataset",
    "SST2Dataset",
    "UDPOSDataset",
    "WikiTextDataset",
    "YahooAnswersDataset",
    "YelpReviewDataset",
    "BatchInfo",
    "DSCallback",
    "Dataset",
    "DatasetCache",
    "DistributedSampler",
    "GeneratorDataset",
    "MindDataset",
    "NumpySlicesDataset",
    "OBSMindDataset",
    "PKSampler",
    "PaddedDataset",
    "RandomDataset",
    "RandomSampler",
    "Sampler",
    "Schema",
    "SequentialSampler",
    "Shuffle",
    "SubsetRandomSampler",
    "SubsetSampler",
    "WaitedDSCallback",
    "WeightedRandomSampler",
    "audio",
    "compare",
    "config",
    "debug",
    "deserialize",
    "mix",
    "monitor",
    "serialize",
    "show",
    "sync_wait_for_dataset",
    "text",
    "transforms",
    "vision",
    "zip",
]
