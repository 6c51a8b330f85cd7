"""As mindspore."""
