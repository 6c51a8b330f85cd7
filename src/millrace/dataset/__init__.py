"""The data pipeline under MindSpore's names: ``import millrace.dataset as ds``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millrace.core.batch_info import BatchInfo
from millrace.core.lazy import lazy
from millrace.core.shuffle import Shuffle
from millrace.fluent.callbacks import DSCallback, WaitedDSCallback
from millrace.fluent.dataset import Dataset
from millrace.fluent.order_ops import zip_datasets as zip
from millrace.fluent.pipeline_json import compare, deserialize, serialize, show
from millrace.fluent.schema import Schema
from millrace.monitor.watch import monitor
from millrace.samplers import (
    DistributedSampler,
    PKSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    SubsetSampler,
    WeightedRandomSampler,
)
from millrace.sources.generator import GeneratorDataset
from millrace.sources.numpy_slices import NumpySlicesDataset
from millrace.sources.padded import PaddedDataset
from millrace.sources.random_data import RandomDataset

from . import config, debug, transforms, vision

if TYPE_CHECKING:
    from millrace.sources.adapters.hugging_face import HuggingFaceDataset
    from millrace.sources.adapters.parquet import ParquetDataset
    from millrace.sources.adapters.torch_dataset import TorchDataset
    from millrace.sources.adapters.web_dataset import WebDataset
    from millrace.sources.audio.cmu_arctic import CMUArcticDataset
    from millrace.sources.audio.gtzan import GTZANDataset
    from millrace.sources.audio.libri_tts import LibriTTSDataset
    from millrace.sources.audio.lj_speech import LJSpeechDataset
    from millrace.sources.audio.speech_commands import SpeechCommandsDataset
    from millrace.sources.audio.tedlium import TedliumDataset
    from millrace.sources.audio.yes_no import YesNoDataset
    from millrace.sources.csv import CSVDataset
    from millrace.sources.manifest import ManifestDataset
    from millrace.sources.obs_records import OBSMindDataset, sync_wait_for_dataset
    from millrace.sources.records import MindDataset
    from millrace.sources.text.ag_news import AGNewsDataset
    from millrace.sources.text.amazon_review import AmazonReviewDataset
    from millrace.sources.text.clue import CLUEDataset
    from millrace.sources.text.conll2000 import CoNLL2000Dataset
    from millrace.sources.text.dbpedia import DBpediaDataset
    from millrace.sources.text.en_wik9 import EnWik9Dataset
    from millrace.sources.text.imdb import IMDBDataset
    from millrace.sources.text.iwslt2016 import IWSLT2016Dataset
    from millrace.sources.text.iwslt2017 import IWSLT2017Dataset
    from millrace.sources.text.multi30k import Multi30kDataset
    from millrace.sources.text.penn_treebank import PennTreebankDataset
    from millrace.sources.text.sogou_news import SogouNewsDataset
    from millrace.sources.text.squad import SQuADDataset
    from millrace.sources.text.sst2 import SST2Dataset
    from millrace.sources.text.udpos import UDPOSDataset
    from millrace.sources.text.wiki_text import WikiTextDataset
    from millrace.sources.text.yahoo_answers import YahooAnswersDataset
    from millrace.sources.text.yelp_review import YelpReviewDataset
    from millrace.sources.text_file import TextFileDataset
    from millrace.sources.tfrecord import TFRecordDataset
    from millrace.sources.vision.caltech101 import Caltech101Dataset
    from millrace.sources.vision.caltech256 import Caltech256Dataset
    from millrace.sources.vision.celeba import CelebADataset
    from millrace.sources.vision.cifar10 import Cifar10Dataset
    from millrace.sources.vision.cifar100 import Cifar100Dataset
    from millrace.sources.vision.cityscapes import CityscapesDataset
    from millrace.sources.vision.coco import CocoDataset
    from millrace.sources.vision.div2k import DIV2KDataset
    from millrace.sources.vision.emnist import EMnistDataset
    from millrace.sources.vision.fake_image import FakeImageDataset
    from millrace.sources.vision.fashion_mnist import FashionMnistDataset
    from millrace.sources.vision.flickr import FlickrDataset
    from millrace.sources.vision.flowers102 import Flowers102Dataset
    from millrace.sources.vision.food101 import Food101Dataset
    from millrace.sources.vision.image_folder import ImageFolderDataset
    from millrace.sources.vision.kitti import KITTIDataset
    from millrace.sources.vision.kmnist import KMnistDataset
    from millrace.sources.vision.lfw import LFWDataset
    from millrace.sources.vision.lsun import LSUNDataset
    from millrace.sources.vision.mnist import MnistDataset
    from millrace.sources.vision.omniglot import OmniglotDataset
    from millrace.sources.vision.photo_tour import PhotoTourDataset
    from millrace.sources.vision.places365 import Places365Dataset
    from millrace.sources.vision.qmnist import QMnistDataset
    from millrace.sources.vision.rendered_sst2 import RenderedSST2Dataset
    from millrace.sources.vision.sbd import SBDataset
    from millrace.sources.vision.sbu import SBUDataset
    from millrace.sources.vision.semeion import SemeionDataset
    from millrace.sources.vision.stl10 import STL10Dataset
    from millrace.sources.vision.sun397 import SUN397Dataset
    from millrace.sources.vision.svhn import SVHNDataset
    from millrace.sources.vision.usps import USPSDataset
    from millrace.sources.vision.voc import VOCDataset
    from millrace.sources.vision.wider_face import WIDERFaceDataset

# Sources that read files are many; each is loaded when it is first named.
_PLACES = {
    "HuggingFaceDataset": "millrace.sources.adapters.hugging_face",
    "ParquetDataset": "millrace.sources.adapters.parquet",
    "TorchDataset": "millrace.sources.adapters.torch_dataset",
    "WebDataset": "millrace.sources.adapters.web_dataset",
    "CMUArcticDataset": "millrace.sources.audio.cmu_arctic",
    "GTZANDataset": "millrace.sources.audio.gtzan",
    "LibriTTSDataset": "millrace.sources.audio.libri_tts",
    "LJSpeechDataset": "millrace.sources.audio.lj_speech",
    "SpeechCommandsDataset": "millrace.sources.audio.speech_commands",
    "TedliumDataset": "millrace.sources.audio.tedlium",
    "YesNoDataset": "millrace.sources.audio.yes_no",
    "CSVDataset": "millrace.sources.csv",
    "ManifestDataset": "millrace.sources.manifest",
    "OBSMindDataset": "millrace.sources.obs_records",
    "sync_wait_for_dataset": "millrace.sources.obs_records",
    "MindDataset": "millrace.sources.records",
    "AGNewsDataset": "millrace.sources.text.ag_news",
    "AmazonReviewDataset": "millrace.sources.text.amazon_review",
    "CLUEDataset": "millrace.sources.text.clue",
    "CoNLL2000Dataset": "millrace.sources.text.conll2000",
    "DBpediaDataset": "millrace.sources.text.dbpedia",
    "EnWik9Dataset": "millrace.sources.text.en_wik9",
    "IMDBDataset": "millrace.sources.text.imdb",
    "IWSLT2016Dataset": "millrace.sources.text.iwslt2016",
    "IWSLT2017Dataset": "millrace.sources.text.iwslt2017",
    "Multi30kDataset": "millrace.sources.text.multi30k",
    "PennTreebankDataset": "millrace.sources.text.penn_treebank",
    "SogouNewsDataset": "millrace.sources.text.sogou_news",
    "SQuADDataset": "millrace.sources.text.squad",
    "SST2Dataset": "millrace.sources.text.sst2",
    "UDPOSDataset": "millrace.sources.text.udpos",
    "WikiTextDataset": "millrace.sources.text.wiki_text",
    "YahooAnswersDataset": "millrace.sources.text.yahoo_answers",
    "YelpReviewDataset": "millrace.sources.text.yelp_review",
    "TextFileDataset": "millrace.sources.text_file",
    "TFRecordDataset": "millrace.sources.tfrecord",
    "Caltech101Dataset": "millrace.sources.vision.caltech101",
    "Caltech256Dataset": "millrace.sources.vision.caltech256",
    "CelebADataset": "millrace.sources.vision.celeba",
    "Cifar10Dataset": "millrace.sources.vision.cifar10",
    "Cifar100Dataset": "millrace.sources.vision.cifar100",
    "CityscapesDataset": "millrace.sources.vision.cityscapes",
    "CocoDataset": "millrace.sources.vision.coco",
    "DIV2KDataset": "millrace.sources.vision.div2k",
    "EMnistDataset": "millrace.sources.vision.emnist",
    "FakeImageDataset": "millrace.sources.vision.fake_image",
    "FashionMnistDataset": "millrace.sources.vision.fashion_mnist",
    "FlickrDataset": "millrace.sources.vision.flickr",
    "Flowers102Dataset": "millrace.sources.vision.flowers102",
    "Food101Dataset": "millrace.sources.vision.food101",
    "ImageFolderDataset": "millrace.sources.vision.image_folder",
    "KITTIDataset": "millrace.sources.vision.kitti",
    "KMnistDataset": "millrace.sources.vision.kmnist",
    "LFWDataset": "millrace.sources.vision.lfw",
    "LSUNDataset": "millrace.sources.vision.lsun",
    "MnistDataset": "millrace.sources.vision.mnist",
    "OmniglotDataset": "millrace.sources.vision.omniglot",
    "PhotoTourDataset": "millrace.sources.vision.photo_tour",
    "Places365Dataset": "millrace.sources.vision.places365",
    "QMnistDataset": "millrace.sources.vision.qmnist",
    "RenderedSST2Dataset": "millrace.sources.vision.rendered_sst2",
    "SBDataset": "millrace.sources.vision.sbd",
    "SBUDataset": "millrace.sources.vision.sbu",
    "SemeionDataset": "millrace.sources.vision.semeion",
    "STL10Dataset": "millrace.sources.vision.stl10",
    "SUN397Dataset": "millrace.sources.vision.sun397",
    "SVHNDataset": "millrace.sources.vision.svhn",
    "USPSDataset": "millrace.sources.vision.usps",
    "VOCDataset": "millrace.sources.vision.voc",
    "WIDERFaceDataset": "millrace.sources.vision.wider_face",
}

__getattr__ = lazy(__name__, _PLACES)

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
    "compare",
    "config",
    "debug",
    "deserialize",
    "monitor",
    "serialize",
    "show",
    "sync_wait_for_dataset",
    "transforms",
    "vision",
    "zip",
]
