"""MindRecord exceptions with MindSpore's names.

Each is also the matching built-in exception, so code can catch either. Exceptions that MindSpore declares but never
raises exist here as well and are never raised.
"""

from __future__ import annotations

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, MillraceError
from millrace._src.core.public import public

__all__ = [
    "DbConnectionError",
    "MRMAddIndexError",
    "MRMAddSchemaError",
    "MRMBuildSchemaError",
    "MRMCloseError",
    "MRMCommitError",
    "MRMDefineBlobError",
    "MRMDefineCategoryError",
    "MRMDefineIndexError",
    "MRMFetchCandidateFieldsError",
    "MRMFetchDataError",
    "MRMFinishError",
    "MRMGenerateIndexError",
    "MRMGetMetaError",
    "MRMIndexGeneratorError",
    "MRMInitSegmentError",
    "MRMInvalidHeaderSizeError",
    "MRMInvalidPageSizeError",
    "MRMInvalidSchemaError",
    "MRMLaunchError",
    "MRMOpenError",
    "MRMOpenForAppendError",
    "MRMReadCategoryInfoError",
    "MRMSetHeaderError",
    "MRMUnsupportedSchemaError",
    "MRMValidateDataError",
    "MRMWriteDatasetError",
    "MindRecordException",
    "ParamMissError",
    "ParamTypeError",
    "ParamValueError",
    "PathNotExistsError",
    "UnknownError",
]


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MindRecordException(MillraceError):
    """Base class of the exceptions of MindRecord files.

    >>> from millrace.mindrecord import FileWriter
    >>> try:
    ...     FileWriter("a?b.mindrecord")
    ... except MindRecordException as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    ParamValueError True
    """


# --- invalid calls -----------------------------------------------------------------------------------------


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMAddIndexError(MindRecordException, ArgumentValueError, RuntimeError):
    """A field cannot be added to the index."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMAddSchemaError(MindRecordException, ArgumentValueError):
    """A set already has its schema; only one is possible."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMBuildSchemaError(MindRecordException, ArgumentValueError):
    """The shape of a field is invalid."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMDefineBlobError(MindRecordException, ArgumentValueError):
    """A field cannot be stored as a blob."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMDefineCategoryError(MindRecordException, ArgumentValueError):
    """A field without an index was chosen as the category."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMDefineIndexError(MindRecordException, ArgumentValueError):
    """A field of bytes or arrays was chosen for the index."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMGetMetaError(MindRecordException, ArgumentValueError):
    """The schema was used before it was defined."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMInvalidHeaderSizeError(MindRecordException, ArgumentValueError, RuntimeError):
    """The header size is invalid."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMInvalidPageSizeError(MindRecordException, ArgumentValueError, RuntimeError):
    """The page size is invalid."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMInvalidSchemaError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """The schema is invalid."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMUnsupportedSchemaError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """The schema has a type that MindRecord files do not support."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMValidateDataError(MindRecordException, ArgumentValueError, ArgumentTypeError, RuntimeError):
    """A row does not fit the schema."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class ParamMissError(MindRecordException, ArgumentValueError):
    """A parameter is missing."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class ParamTypeError(MindRecordException, ArgumentTypeError):
    """A parameter is of the wrong type."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class ParamValueError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """A parameter has an invalid value; MindSpore also raises it for many wrong types."""


# --- file errors --------------------------------------------------------------------------------------------


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class DbConnectionError(MindRecordException, DataError):
    """The index of a data file cannot be opened."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMCloseError(MindRecordException, DataError):
    """Files cannot be closed."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMCommitError(MindRecordException, DataError):
    """A set cannot be committed."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMFetchCandidateFieldsError(MindRecordException, DataError):
    """The indexed fields cannot be read."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMFetchDataError(MindRecordException, DataError):
    """Rows cannot be read."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMFinishError(MindRecordException, DataError):
    """Reading cannot be finished."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMGenerateIndexError(MindRecordException, DataError):
    """An index cannot be written."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMIndexGeneratorError(MindRecordException, DataError):
    """An index cannot be created."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMInitSegmentError(MindRecordException, DataError):
    """Pages cannot be read."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMLaunchError(MindRecordException, DataError):
    """Reading cannot be started."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMOpenError(MindRecordException, DataError):
    """Files cannot be opened."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMOpenForAppendError(MindRecordException, DataError):
    """Files cannot be opened to add rows."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMReadCategoryInfoError(MindRecordException, DataError):
    """Categories cannot be read."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMSetHeaderError(MindRecordException, DataError):
    """The header cannot be set."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class MRMWriteDatasetError(MindRecordException, DataError):
    """Rows cannot be written."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class PathNotExistsError(MindRecordException, DataError):
    """A file or folder that is needed does not exist."""


@public("mindrecord.common.exceptions", unlisted=("mindrecord",))
class UnknownError(MindRecordException, DataError):
    """Another error."""
