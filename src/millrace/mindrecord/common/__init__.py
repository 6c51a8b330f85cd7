"""What the record classes share: ``millrace.mindrecord.common.exceptions``."""
