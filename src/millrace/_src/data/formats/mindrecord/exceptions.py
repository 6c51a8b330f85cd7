"""The exceptions of MindRecord files, with MindSpore's names.

Each is also the built-in error that belongs to the situation, so both habits of catching work. Those that MindSpore
declares and never raises can be caught here as well, and are never raised either.
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
    """Root of the exceptions of MindRecord files.

    >>> from millrace.mindrecord import FileWriter
    >>> try:
    ...     FileWriter("a?b.mindrecord")
    ... except MindRecordException as error:
    ...     print(type(error).__name__, isinstance(error, ValueError))
    ParamValueError True
    """


# --- a call was wrong ---------------------------------------------------------------------------------------


class MRMAddIndexError(MindRecordException, ArgumentValueError, RuntimeError):
    """A field cannot be added to the index."""


class MRMAddSchemaError(MindRecordException, ArgumentValueError):
    """A set has one schema, and it has one already."""


class MRMBuildSchemaError(MindRecordException, ArgumentValueError):
    """The shape of a field is impossible."""


class MRMDefineBlobError(MindRecordException, ArgumentValueError):
    """A field cannot be kept among the blobs."""


class MRMDefineCategoryError(MindRecordException, ArgumentValueError):
    """A field without an index was chosen as the category."""


class MRMDefineIndexError(MindRecordException, ArgumentValueError):
    """A field of bytes or arrays was chosen for the index."""


class MRMGetMetaError(MindRecordException, ArgumentValueError):
    """Something was asked of the schema before there was one."""


class MRMInvalidHeaderSizeError(MindRecordException, ArgumentValueError, RuntimeError):
    """The size of the header is impossible."""


class MRMInvalidPageSizeError(MindRecordException, ArgumentValueError, RuntimeError):
    """The size of a page is impossible."""


class MRMInvalidSchemaError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """The schema is not one."""


class MRMUnsupportedSchemaError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """The schema asks for what record files cannot hold."""


class MRMValidateDataError(MindRecordException, ArgumentValueError, ArgumentTypeError, RuntimeError):
    """A row does not fit the schema."""


class ParamMissError(MindRecordException, ArgumentValueError):
    """A parameter is missing."""


class ParamTypeError(MindRecordException, ArgumentTypeError):
    """A parameter is of the wrong type."""


class ParamValueError(MindRecordException, ArgumentValueError, ArgumentTypeError):
    """A parameter has an impossible value; MindSpore raises it for many a wrong type too."""


# --- files were ---------------------------------------------------------------------------------------------


class DbConnectionError(MindRecordException, DataError):
    """The index of a data file cannot be opened."""


class MRMCloseError(MindRecordException, DataError):
    """Files cannot be closed."""


class MRMCommitError(MindRecordException, DataError):
    """A set cannot be put in place."""


class MRMFetchCandidateFieldsError(MindRecordException, DataError):
    """The indexed fields cannot be had."""


class MRMFetchDataError(MindRecordException, DataError):
    """Rows cannot be read."""


class MRMFinishError(MindRecordException, DataError):
    """Reading cannot be ended."""


class MRMGenerateIndexError(MindRecordException, DataError):
    """An index cannot be written."""


class MRMIndexGeneratorError(MindRecordException, DataError):
    """An index cannot be begun."""


class MRMInitSegmentError(MindRecordException, DataError):
    """Pages cannot be read."""


class MRMLaunchError(MindRecordException, DataError):
    """Reading cannot be begun."""


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
    """Something else went wrong."""
