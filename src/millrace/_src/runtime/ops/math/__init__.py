"""Math."""
