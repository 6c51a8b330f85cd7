"""Neural-network operations."""
