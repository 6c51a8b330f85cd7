"""The data wing: reads, transforms, orders and delivers batches. README.md beside this has the map."""
