"""The data pipeline under MindSpore's names: ``import millrace.dataset as ds``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace._src.core.lazy import lazy
from millrace._src.core.random.shuffle import Shuffle
from millrace._src.data.engine.batch_info import BatchInfo
from millrace._src.data.pipeline.callbacks import DSCallback, WaitedDSCallback
from millrace._src.data.pipeline.dataset import Dataset
from millrace._src.data.pipeline.order_ops import mix_datasets as mix
from millrace._src.data.pipeline.order_ops import zip_datasets as zip
from millrace._src.data.pipeline.schema import Schema
from millrace._src.data.pipeline.serialization import compare, deserialize, serialize, show
from millrace._src.data.samplers import (
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
from millrace._src.data.sources.generator import GeneratorDataset
from millrace._src.data.sources.numpy_slices import NumpySlicesDataset
from millrace._src.data.sources.padded import PaddedDataset
from millrace._src.data.sources.random_data import RandomDataset

from . import config, transforms

if TYPE_CHECKING:
    from millrace._src.data.cache.dataset_cache import DatasetCache
    from millrace._src.data.sources.adapters.hugging_face import HuggingFaceDataset
    from millrace._src.data.sources.adapters.parquet import ParquetDataset
    from millrace._src.data.sources.adapters.torch_dataset import TorchDataset
    from millrace._src.data.sources.adapters.web_dataset import WebDataset
    from millrace._src.data.sources.audio.cmu_arctic import CMUArcticDataset
    from millrace._src.data.sources.audio.gtzan import GTZANDataset
    from millrace._src.data.sources.audio.libri_tts import LibriTTSDataset
    from millrace._src.data.sources.audio.lj_speech import LJSpeechDataset
    from millrace._src.data.sources.audio.speech_commands import SpeechCommandsDataset
    from millrace._src.data.sources.audio.tedlium import TedliumDataset
    from millrace._src.data.sources.audio.yes_no import YesNoDataset
    from millrace._src.data.sources.csv import CSVDataset
    from millrace._src.data.sources.manifest import ManifestDataset
    from millrace._src.data.sources.mindrecord import MindDataset
    from millrace._src.data.sources.obs_mindrecord import OBSMindDataset, sync_wait_for_dataset
    from millrace._src.data.sources.text.ag_news import AGNewsDataset
    from millrace._src.data.sources.text.amazon_review import AmazonReviewDataset
    from millrace._src.data.sources.text.clue import CLUEDataset
    from millrace._src.data.sources.text.conll2000 import CoNLL2000Dataset
    from millrace._src.data.sources.text.dbpedia import DBpediaDataset
    from millrace._src.data.sources.text.en_wik9 import EnWik9Dataset
    from millrace._src.data.sources.text.imdb import IMDBDataset
    from millrace._src.data.sources.text.iwslt import IWSLT2016Dataset
    from millrace._src.data.sources.text.iwslt2017 import IWSLT2017Dataset
    from millrace._src.data.sources.text.multi30k import Multi30kDataset
    from millrace._src.data.sources.text.penn_treebank import PennTreebankDataset
    from millrace._src.data.sources.text.sogou_news import SogouNewsDataset
    from millrace._src.data.sources.text.squad import SQuADDataset
    from millrace._src.data.sources.text.sst2 import SST2Dataset
    from millrace._src.data.sources.text.udpos import UDPOSDataset
    from millrace._src.data.sources.text.wiki_text import WikiTextDataset
    from millrace._src.data.sources.text.yahoo_answers import YahooAnswersDataset
    from millrace._src.data.sources.text.yelp_review import YelpReviewDataset
    from millrace._src.data.sources.text_file import TextFileDataset
    from millrace._src.data.sources.tfrecord import TFRecordDataset
    from millrace._src.data.sources.vision.caltech import Caltech101Dataset
    from millrace._src.data.sources.vision.caltech256 import Caltech256Dataset
    from millrace._src.data.sources.vision.celeba import CelebADataset
    from millrace._src.data.sources.vision.cifar import Cifar10Dataset
    from millrace._src.data.sources.vision.cifar100 import Cifar100Dataset
    from millrace._src.data.sources.vision.cityscapes import CityscapesDataset
    from millrace._src.data.sources.vision.coco import CocoDataset
    from millrace._src.data.sources.vision.div2k import DIV2KDataset
    from millrace._src.data.sources.vision.emnist import EMnistDataset
    from millrace._src.data.sources.vision.fake_image import FakeImageDataset
    from millrace._src.data.sources.vision.fashion_mnist import FashionMnistDataset
    from millrace._src.data.sources.vision.flickr import FlickrDataset
    from millrace._src.data.sources.vision.flowers102 import Flowers102Dataset
    from millrace._src.data.sources.vision.food101 import Food101Dataset
    from millrace._src.data.sources.vision.image_folder import ImageFolderDataset
    from millrace._src.data.sources.vision.kitti import KITTIDataset
    from millrace._src.data.sources.vision.kmnist import KMnistDataset
    from millrace._src.data.sources.vision.lfw import LFWDataset
    from millrace._src.data.sources.vision.lsun import LSUNDataset
    from millrace._src.data.sources.vision.mnist import MnistDataset
    from millrace._src.data.sources.vision.omniglot import OmniglotDataset
    from millrace._src.data.sources.vision.photo_tour import PhotoTourDataset
    from millrace._src.data.sources.vision.places365 import Places365Dataset
    from millrace._src.data.sources.vision.qmnist import QMnistDataset
    from millrace._src.data.sources.vision.rendered_sst2 import RenderedSST2Dataset
    from millrace._src.data.sources.vision.sbd import SBDataset
    from millrace._src.data.sources.vision.sbu import SBUDataset
    from millrace._src.data.sources.vision.semeion import SemeionDataset
    from millrace._src.data.sources.vision.stl10 import STL10Dataset
    from millrace._src.data.sources.vision.sun397 import SUN397Dataset
    from millrace._src.data.sources.vision.svhn import SVHNDataset
    from millrace._src.data.sources.vision.usps import USPSDataset
    from millrace._src.data.sources.vision.voc import VOCDataset
    from millrace._src.data.sources.vision.wider_face import WIDERFaceDataset
    from millrace._src.observe.monitor import monitor
    from millrace.dataset import audio, debug, text, vision

# Sources that read files are many; each is loaded when it is first named.
_PLACES = {
    "DatasetCache": "millrace._src.data.cache.dataset_cache",
    "audio": "millrace.dataset.audio",
    "debug": "millrace.dataset.debug",
    "monitor": "millrace._src.observe.monitor",
    "text": "millrace.dataset.text",
    "utils": "millrace.dataset.utils",
    "vision": "millrace.dataset.vision",
    "HuggingFaceDataset": "millrace._src.data.sources.adapters.hugging_face",
    "ParquetDataset": "millrace._src.data.sources.adapters.parquet",
    "TorchDataset": "millrace._src.data.sources.adapters.torch_dataset",
    "WebDataset": "millrace._src.data.sources.adapters.web_dataset",
    "CMUArcticDataset": "millrace._src.data.sources.audio.cmu_arctic",
    "GTZANDataset": "millrace._src.data.sources.audio.gtzan",
    "LibriTTSDataset": "millrace._src.data.sources.audio.libri_tts",
    "LJSpeechDataset": "millrace._src.data.sources.audio.lj_speech",
    "SpeechCommandsDataset": "millrace._src.data.sources.audio.speech_commands",
    "TedliumDataset": "millrace._src.data.sources.audio.tedlium",
    "YesNoDataset": "millrace._src.data.sources.audio.yes_no",
    "CSVDataset": "millrace._src.data.sources.csv",
    "ManifestDataset": "millrace._src.data.sources.manifest",
    "OBSMindDataset": "millrace._src.data.sources.obs_mindrecord",
    "sync_wait_for_dataset": "millrace._src.data.sources.obs_mindrecord",
    "MindDataset": "millrace._src.data.sources.mindrecord",
    "AGNewsDataset": "millrace._src.data.sources.text.ag_news",
    "AmazonReviewDataset": "millrace._src.data.sources.text.amazon_review",
    "CLUEDataset": "millrace._src.data.sources.text.clue",
    "CoNLL2000Dataset": "millrace._src.data.sources.text.conll2000",
    "DBpediaDataset": "millrace._src.data.sources.text.dbpedia",
    "EnWik9Dataset": "millrace._src.data.sources.text.en_wik9",
    "IMDBDataset": "millrace._src.data.sources.text.imdb",
    "IWSLT2016Dataset": "millrace._src.data.sources.text.iwslt",
    "IWSLT2017Dataset": "millrace._src.data.sources.text.iwslt2017",
    "Multi30kDataset": "millrace._src.data.sources.text.multi30k",
    "PennTreebankDataset": "millrace._src.data.sources.text.penn_treebank",
    "SogouNewsDataset": "millrace._src.data.sources.text.sogou_news",
    "SQuADDataset": "millrace._src.data.sources.text.squad",
    "SST2Dataset": "millrace._src.data.sources.text.sst2",
    "UDPOSDataset": "millrace._src.data.sources.text.udpos",
    "WikiTextDataset": "millrace._src.data.sources.text.wiki_text",
    "YahooAnswersDataset": "millrace._src.data.sources.text.yahoo_answers",
    "YelpReviewDataset": "millrace._src.data.sources.text.yelp_review",
    "TextFileDataset": "millrace._src.data.sources.text_file",
    "TFRecordDataset": "millrace._src.data.sources.tfrecord",
    "Caltech101Dataset": "millrace._src.data.sources.vision.caltech",
    "Caltech256Dataset": "millrace._src.data.sources.vision.caltech256",
    "CelebADataset": "millrace._src.data.sources.vision.celeba",
    "Cifar10Dataset": "millrace._src.data.sources.vision.cifar",
    "Cifar100Dataset": "millrace._src.data.sources.vision.cifar100",
    "CityscapesDataset": "millrace._src.data.sources.vision.cityscapes",
    "CocoDataset": "millrace._src.data.sources.vision.coco",
    "DIV2KDataset": "millrace._src.data.sources.vision.div2k",
    "EMnistDataset": "millrace._src.data.sources.vision.emnist",
    "FakeImageDataset": "millrace._src.data.sources.vision.fake_image",
    "FashionMnistDataset": "millrace._src.data.sources.vision.fashion_mnist",
    "FlickrDataset": "millrace._src.data.sources.vision.flickr",
    "Flowers102Dataset": "millrace._src.data.sources.vision.flowers102",
    "Food101Dataset": "millrace._src.data.sources.vision.food101",
    "ImageFolderDataset": "millrace._src.data.sources.vision.image_folder",
    "KITTIDataset": "millrace._src.data.sources.vision.kitti",
    "KMnistDataset": "millrace._src.data.sources.vision.kmnist",
    "LFWDataset": "millrace._src.data.sources.vision.lfw",
    "LSUNDataset": "millrace._src.data.sources.vision.lsun",
    "MnistDataset": "millrace._src.data.sources.vision.mnist",
    "OmniglotDataset": "millrace._src.data.sources.vision.omniglot",
    "PhotoTourDataset": "millrace._src.data.sources.vision.photo_tour",
    "Places365Dataset": "millrace._src.data.sources.vision.places365",
    "QMnistDataset": "millrace._src.data.sources.vision.qmnist",
    "RenderedSST2Dataset": "millrace._src.data.sources.vision.rendered_sst2",
    "SBDataset": "millrace._src.data.sources.vision.sbd",
    "SBUDataset": "millrace._src.data.sources.vision.sbu",
    "SemeionDataset": "millrace._src.data.sources.vision.semeion",
    "STL10Dataset": "millrace._src.data.sources.vision.stl10",
    "SUN397Dataset": "millrace._src.data.sources.vision.sun397",
    "SVHNDataset": "millrace._src.data.sources.vision.svhn",
    "USPSDataset": "millrace._src.data.sources.vision.usps",
    "VOCDataset": "millrace._src.data.sources.vision.voc",
    "WIDERFaceDataset": "millrace._src.data.sources.vision.wider_face",
}

_find = lazy(__name__, _PLACES)


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    """List all public names, including those that are loaded on first use."""
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
