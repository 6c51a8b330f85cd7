"""MindRecord exceptions with MindSpore's names.

Each is also the matching built-in exception, so code can catch either. Exceptions that MindSpore declares but never
raises exist here as well and are never raised.
"""

from __future__ import annotations

from millrace._src.core.errors import ArgumentTypeError, ArgumentValueError, DataError, MillraceError

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


class MRMAddIndexError(MindRecordException, ArgumentValueError, RuntimeError):
    """A field cannot be added to the index."""


class MRMAddSchemaError(MindRecordException, ArgumentValueError):
    """A set already has its schema; only one is possible."""


class MRMBuildSchemaError(MindRecordException, ArgumentValueError):
    """The shape of a field is invalid."""


class MRMDefineBlobError(MindRecordException, ArgumentValueError):
    """A field cannot be stored as a blob."""


class MRMDefineCategoryError(MindRecordException, ArgumentValueError):
    """A field without an index was chosen as the category."""


class MRMDefineIndexError(MindRecordException, ArgumentValueError):
    """A field of bytes or arrays was chosen for the index."""


class MRMGetMetaError(MindRecordException, ArgumentValueError):
    """The schema was used before it was defined."""


class MRMInvalidHeaderSizeError(MindRecordException, ArgumentValueError, RuntimeError):
    """The header size is invalid."""


class MRMInvalidPageSizeError(MindRecordException, ArgumentValueError, RuntimeError):
    """The page size is invalid."""


class MRMInvalidSchemaError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """The schema is invalid."""


class MRMUnsupportedSchemaError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """The schema has a type that MindRecord files do not support."""


class MRMValidateDataError(MindRecordException, ArgumentValueError, ArgumentTypeError, RuntimeError):
    """A row does not fit the schema."""


class ParamMissError(MindRecordException, ArgumentValueError):
    """A parameter is missing."""


class ParamTypeError(MindRecordException, ArgumentTypeError):
    """A parameter is of the wrong type."""


class ParamValueError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """A parameter has an invalid value; MindSpore also raises it for many wrong types."""


# --- file errors --------------------------------------------------------------------------------------------


class DbConnectionError(MindRecordException, DataError):
    """The index of a data file cannot be opened."""


class MRMCloseError(MindRecordException, DataError):
    """Files cannot be closed."""


class MRMCommitError(MindRecordException, DataError):
    """A set cannot be committed."""


class MRMFetchCandidateFieldsError(MindRecordException, DataError):
    """The indexed fields cannot be read."""


class MRMFetchDataError(MindRecordException, DataError):
    """Rows cannot be read."""


class MRMFinishError(MindRecordException, DataError):
    """Reading cannot be finished."""


class MRMGenerateIndexError(MindRecordException, DataError):
    """An index cannot be written."""


class MRMIndexGeneratorError(MindRecordException, DataError):
    """An index cannot be created."""


class MRMInitSegmentError(MindRecordException, DataError):
    """Pages cannot be read."""


class MRMLaunchError(MindRecordException, DataError):
    """Reading cannot be started."""


class MRMOpenError(MindRecordException, DataError):
    """Files cannot be opened."""


class MRMOpenForAppendError(MindRecordException, DataError):
    """Files cannot be opened to add rows."""


class MRMReadCategoryInfoError(MindRecordException, DataError):
    """Categories cannot be read."""


class MRMSetHeaderError(MindRecordException, DataError):
    """The header cannot be set."""


class MRMWriteDatasetError(MindRecordException, DataError):
    """Rows cannot be written."""


class PathNotExistsError(MindRecordException, DataError):
    """A file or folder that is needed does not exist."""


class UnknownError(MindRecordException, DataError):
    """Another error."""
